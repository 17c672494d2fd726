/**
 * The right to use the files of a folder, which one process has at a time: it listens on a socket there.
 *
 * The system ends it with the process, however that ends. A socket that nobody listens on is passed by: the next one
 * has the next number. It gets its name when somebody listens already, names are given once, and none is removed but by
 * whoever has a higher one; so two that pass the same socket by cannot both go on.
 */

import { randomBytes } from "node:crypto";
import { link, open, readdir, rm, type FileHandle } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";

/** The turn of a process; others reach it by their sockets. */
export class Turn {
  readonly #server: Server;
  readonly #handle: FileHandle;
  readonly #sockets = new Set<Socket>();
  #serve: ((socket: Socket) => void) | null = null;

  constructor(server: Server, handle: FileHandle) {
    [this.#server, this.#handle] = [server, handle];
    server.on("connection", (socket) => {
      this.#sockets.add(socket.unref());
      socket.on("error", () => undefined); // whoever goes is gone
      socket.on("close", () => this.#sockets.delete(socket));
      this.#serve?.(socket);
    });
  }

  /** From now on, do something with whoever comes, and with those who came before. */
  serve(serve: (socket: Socket) => void): void {
    this.#serve = serve;
    this.#sockets.forEach(serve);
  }

  /** Turn away whoever is here. */
  dismiss(): void {
    this.#serve = (socket) => socket.destroy();
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Let others have the turn. */
  async close(): Promise<void> {
    this.dismiss();
    await new Promise((resolve) => this.#server.close(resolve));
    await this.#handle.close();
  }
}

/** The turn of the files that begin with `name`, or a socket to the process that has it, or null: try again. */
export async function takeTurn(folder: string, name: string): Promise<Turn | Socket | null> {
  const handle = await open(folder, "r");
  const found = await tryTurn(folder, handle, `${name}.turn-`).catch(async (why: unknown) => {
    await handle.close();
    throw why;
  });
  if (!(found instanceof Turn)) await handle.close();
  return found;
}

async function tryTurn(folder: string, handle: FileHandle, prefix: string): Promise<Turn | Socket | null> {
  const find = async () => {
    const names = (await readdir(folder)).filter((each) => each.startsWith(prefix));
    return names.map((each) => Number(each.slice(prefix.length))).filter(Number.isInteger);
  };
  // the path of a socket may be of some 100 bytes, that of a folder of more
  const reach = (name: string) => (process.platform === "linux" ? `/proc/self/fd/${handle.fd}` : folder) + `/${name}`;
  const last = Math.max(0, ...(await find()));
  const other = last ? await reachSocket(reach(`${prefix}${last}`)) : null;
  if (other === "busy") return null;
  if (other) return other;
  const fresh = `${prefix}new-${randomBytes(8).toString("hex")}`;
  const server = await listen(reach(fresh));
  const turn = new Turn(server, handle);
  const own = join(folder, `${prefix}${last + 1}`);
  const isNamed = await link(join(folder, fresh), own).then(
    () => true,
    () => false,
  );
  await rm(join(folder, fresh), { force: true });
  const found = isNamed ? await find() : [];
  if (!isNamed || Math.max(...found) > last + 1) {
    if (isNamed) await rm(own, { force: true });
    turn.dismiss();
    await new Promise((resolve) => server.close(resolve));
    return null;
  }
  for (const number of found.filter((each) => each <= last)) {
    await rm(join(folder, `${prefix}${number}`), { force: true });
  }
  return turn;
}

function listen(path: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(path, () => resolve(server.unref()));
  });
}

/** A socket to whoever listens, or null if nobody does. */
function reachSocket(path: string): Promise<Socket | "busy" | null> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => resolve(socket));
    socket.once("error", (why: NodeJS.ErrnoException) => {
      resolve(why.code === "ECONNREFUSED" || why.code === "ENOENT" ? null : "busy");
    });
  });
}
