// your server says who is signed in; it has signed the token
const { key, unit, token } = await (await fetch("/me.json")).json();

async function ask(verb, body) {
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
  const request = { method: "POST", headers, body: JSON.stringify(body) };
  const answer = await fetch(`{{address}}/v1/studies/{{study}}/${verb}`, request);
  if (!answer.ok) throw new Error(await answer.text());
  return await answer.json();
}

const { arm, payload, ticket } = await ask("assign", { unit, token{{page_attributes}} }); // the same arm whenever she comes
console.log(arm, payload);
if (ticket) await ask("expose", { ticket }); // she sees it
if (ticket) await ask("report", { ticket, value: {{value}} }); // what became of her, once it is known
