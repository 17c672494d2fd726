// A shop that asks which offer to show, says that it was shown, and reports who bought. Nothing but Node is needed.
//
//   MASKEDBANDIT_URL=http://127.0.0.1:8000 MASKEDBANDIT_KEY=mb_client_... PORT=3000 node server.mjs

import { createServer } from "node:http";

import { Client } from "maskedbandit/server";

const { MASKEDBANDIT_URL: url, MASKEDBANDIT_KEY: key, MASKEDBANDIT_FOLDER: folder, PORT = "3000" } = process.env;
const client = await Client.open({ url, key, study: "shop", fallback: "plain", ...(folder && { folder }) });

const PAGE = (text) => `<!doctype html><title>Shop</title><h1>${text}</h1><form method=post action=/buy><button>Buy`;
const OFFERS = { plain: "Tea, 5 €", gift: "Tea, 5 €, with a spoon" }; // here, for when the service is away

const server = createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url, "http://shop.example");
  try {
    if (request.method === "GET" && pathname === "/") {
      const visitor = await client.assign(searchParams.get("person") ?? ""); // who signed in, in a shop that is one
      await client.expose(visitor.ticket);
      // the ticket is a secret of the person: scripts of the page do not see it
      const cookie = visitor.ticket && { "Set-Cookie": `ticket=${visitor.ticket}; HttpOnly; SameSite=Strict; Path=/` };
      response.writeHead(200, { "Content-Type": "text/html; charset=utf-8", ...cookie });
      response.end(PAGE(OFFERS[visitor.arm]));
    } else if (request.method === "POST" && pathname === "/buy") {
      const [, ticket = null] = /(?:^|; )ticket=([0-9a-z]+)/.exec(request.headers.cookie ?? "") ?? [];
      await client.report(ticket, 1); // on disk, whether the service is there or not
      response.writeHead(303, { Location: "/thanks" }).end();
    } else if (request.method === "GET" && pathname === "/thanks") {
      response.end("Thank you.");
    } else {
      response.writeHead(404).end();
    }
  } catch (why) {
    response.writeHead(why.code === "personal_value" ? 400 : 500).end();
  }
});

server.listen(Number(PORT), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));

process.once("SIGTERM", () => {
  server.close(() => client.close());
  server.closeIdleConnections();
});
