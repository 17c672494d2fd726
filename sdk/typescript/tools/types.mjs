// The types of the service's messages, made from its OpenAPI document; with --check it is only said if they are stale.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import openapiTS, { astToString } from "openapi-typescript";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const file = fileURLToPath(new URL("../src/server/api.ts", import.meta.url));
const program = `
import json
from maskedbandit.service.api import list_routes
from maskedbandit.service.request.openapi import write_openapi
print(json.dumps(write_openapi(list_routes())))
`;
const python = process.env.PYTHON ?? ".venv/bin/python";
const options = { cwd: root, encoding: "utf8", maxBuffer: 2 ** 26 };
const document = JSON.parse(execFileSync(python, ["-c", program], options));
const head = "// Written by `npm run types` from the service's OpenAPI document: not to be changed by hand.\n\n";
const found = await openapiTS(document, { defaultNonNullable: false }); // what has a default may be left out
const text = head + astToString(found);

if (!process.argv.includes("--check")) {
  writeFileSync(file, text);
} else if (readFileSync(file, "utf8") !== text) {
  console.error("src/server/api.ts is stale: the service's OpenAPI document is another now. `npm run types` writes it");
  process.exit(1);
}
