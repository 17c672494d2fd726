/**
 * Bytes of what an application loads, minified and gzipped, as an object of JSON: `web` in studies of local trust, `web
 * with two servers`, `web with a shuffler` and `web in rounds`, whose parts a page imports when it needs them, and
 * `server`. What an application has is left out.
 */
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

async function measure(entry, ...external) {
  const { outputFiles } = await build({
    entryPoints: [`src/${entry}/index.ts`],
    external: ["@openfeature/*", "node:*", ...external],
    bundle: true,
    format: "esm",
    minify: true,
    target: "es2022",
    write: false,
  });
  return gzipSync(outputFiles[0].contents, { level: 9 }).length;
}

const sizes = {
  web: await measure("web", "*/two_servers.js", "*/shuffler.js", "*/rounds.js"),
  "web with two servers": await measure("web", "*/shuffler.js", "*/rounds.js"),
  "web with a shuffler": await measure("web", "*/two_servers.js", "*/rounds.js"),
  "web in rounds": await measure("web", "*/two_servers.js", "*/shuffler.js"),
  server: await measure("server"),
};
console.log(JSON.stringify(sizes));
