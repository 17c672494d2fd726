/**
 * The files of a folder, as a process of several has them: it holds them, or asks the one that does.
 *
 * If that one ends, however that happens, another takes its turn, and what was not answered is asked again: what is
 * written twice by this is the same report twice, and counts once.
 */

import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

import { MaskedBanditError } from "../core/errors.js";
import type { Refusal } from "./answers.js";
import type { Calls } from "./calls.js";
import { refuseStorage } from "./folder.js";
import { Holder, readLines, writeLine, type Request, type Where } from "./holder.js";
import { takeTurn, Turn } from "./turn.js";

const BETWEEN = 20; // milliseconds

export class SharedFiles {
  readonly #join: () => Promise<Holder | Link>;
  #role: Promise<Holder | Link>;
  #isClosed = false;

  constructor(where: Where, name: string, calls: Calls, onRefused: (refusal: Refusal) => void) {
    this.#join = async () => {
      for (;;) {
        const found = await takeTurn(where.folder, name);
        if (found instanceof Turn) return Holder.open(found, where, calls, onRefused);
        if (found) return new Link(found, () => this.#rejoin());
        await sleep(BETWEEN);
      }
    };
    this.#role = this.#join();
  }

  /** Wait until the files can be used; throws if they cannot. */
  async ready(): Promise<void> {
    await this.#role;
  }

  /** Have something done by whoever has the turn; in the order of the calls. */
  async do(request: Request): Promise<unknown> {
    for (;;) {
      const role = this.#role;
      const holder = await role.catch((why: unknown) => {
        this.#rejoin(role); // the folder may be usable the next time
        throw refuseStorage("the folder", why);
      });
      try {
        return await holder.do(request);
      } catch (why) {
        if (why !== LOST || this.#isClosed) throw refuseStorage("the folder", why);
        this.#rejoin(role);
      }
    }
  }

  /** Try to send what waits, and use the files no more. */
  async close(timeout: number): Promise<void> {
    const role = await this.#role.catch(() => null);
    if (role instanceof Link) await this.do({ verb: "flush", timeout });
    this.#isClosed = true;
    await (await this.#role.catch(() => null))?.close(timeout);
  }

  #rejoin(before = this.#role): void {
    if (this.#isClosed || before !== this.#role) return;
    this.#role = this.#join();
    this.#role.catch(() => undefined); // whoever asks next is told
  }
}

const LOST = new Error("the process that had the turn has ended");

/** The connection to the process that has the turn. */
class Link {
  readonly #socket: Socket;
  readonly #waiting = new Map<number, { done: (gives: unknown) => void; failed: (why: unknown) => void }>();
  #count = 0;

  constructor(socket: Socket, lost: () => void) {
    this.#socket = socket.unref();
    readLines(socket, ({ id, gives, error }: { id: number; gives: unknown; error?: Record<string, string> }) => {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (!this.#waiting.size) socket.unref(); // an application that just ends is not kept
      if (error) waiting?.failed(new MaskedBanditError(error["code"] ?? "", error["message"] ?? ""));
      else waiting?.done(gives);
    });
    socket.on("error", () => undefined);
    socket.on("close", () => {
      lost(); // before whoever waits asks again
      for (const { failed } of this.#waiting.values()) failed(LOST);
      this.#waiting.clear();
    });
  }

  do(request: Request): Promise<unknown> {
    if (this.#socket.destroyed) return Promise.reject(LOST);
    return new Promise((done, failed) => {
      this.#waiting.set(++this.#count, { done, failed });
      writeLine(this.#socket.ref(), { id: this.#count, request });
    });
  }

  async close(): Promise<void> {
    this.#socket.destroy();
  }
}
