await client.report(ann.ticket, {{value}}); // what became of her, once it is known
await client.close();
