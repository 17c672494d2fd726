/**
 * The right to use the files of a folder, which one process has at a time: it listens on a socket there.
 *
 * The system ends it with the process, however that ends. A socket that nobody listens on is passed by: the next one
 * has the next number. It gets its name when somebody listens already, names are given once, and none is removed but by
 * whoever has a higher one; so two that pass the same socket by cannot both go on.
 */

import { randomBytes } from "node:crypto";
import { link, open, readdir, rm, type FileHandle } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { MaskedBanditError } from "../core/errors.js";
import { refuseStorage } from "./folder.js";

const PATIENCE = 5000; // milliseconds: a process that is replaced may still be closing
const BETWEEN = 50; // milliseconds

export class Turn {
  constructor(
    readonly folder: string,
    readonly server: Server,
    readonly handle: FileHandle,
  ) {}

  /** Let others use the files. */
  async close(): Promise<void> {
    await new Promise((resolve) => this.server.close(resolve));
    await this.handle.close();
  }
}

/** Take the turn of the files that begin with `name`; wait a while if another process has it, and throw then. */
export async function takeTurn(folder: string, name: string, patience = PATIENCE): Promise<Turn> {
  const handle = await open(folder, "r");
  const end = performance.now() + patience;
  try {
    for (;;) {
      const server = await tryTurn(folder, handle, `${name}.turn-`);
      if (server) return new Turn(folder, server, handle);
      if (performance.now() > end) break;
      await sleep(BETWEEN);
    }
  } catch (why) {
    await handle.close();
    throw refuseStorage(folder, why);
  }
  await handle.close();
  const message = `another client has the files of this study in ${folder}: close it, or name a folder for each`;
  throw new MaskedBanditError("folder_in_use", message);
}

async function tryTurn(folder: string, handle: FileHandle, prefix: string): Promise<Server | null> {
  const find = async () => {
    const names = (await readdir(folder)).filter((each) => each.startsWith(prefix));
    return names.map((each) => Number(each.slice(prefix.length))).filter(Number.isInteger);
  };
  const reach = (name: string) => (process.platform === "linux" ? `/proc/self/fd/${handle.fd}` : folder) + `/${name}`;
  const last = Math.max(0, ...(await find()));
  if (last && (await isListening(reach(`${prefix}${last}`)))) return null;
  const fresh = `${prefix}new-${randomBytes(8).toString("hex")}`;
  const server = await listen(reach(fresh)); // the path of a socket may be of some 100 bytes, that of a folder of more
  const own = join(folder, `${prefix}${last + 1}`);
  const taken = await link(join(folder, fresh), own).then(
    () => true,
    () => false,
  );
  await rm(join(folder, fresh), { force: true });
  const found = taken ? await find() : [];
  if (!taken || Math.max(...found) > last + 1) {
    if (taken) await rm(own, { force: true });
    await new Promise((resolve) => server.close(resolve));
    return null;
  }
  for (const number of found.filter((each) => each <= last)) {
    await rm(join(folder, `${prefix}${number}`), { force: true });
  }
  return server;
}

function listen(path: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once("error", reject);
    server.listen(path, () => resolve(server.unref()));
  });
}

function isListening(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => (socket.destroy(), resolve(true)));
    socket.once("error", (why) => resolve(!("code" in why && ["ECONNREFUSED", "ENOENT"].includes(String(why.code)))));
  });
}
