/**
 * What is to be sent: on disk before `report` returns, and there until the service has answered.
 *
 * A file of lines, each a message. What was sent is overwritten with spaces, and not only forgotten; a file of spaces
 * alone is emptied. A line that is not whole was never promised: its process, or the machine, ended first.
 */

import { createHmac } from "node:crypto";
import { open, rename, type FileHandle } from "node:fs/promises";
import { dirname } from "node:path";

import { isName, isTicket, type Kind, type Messages } from "./answers.js";
import { refuseStorage, syncFolder } from "./folder.js";

const COMPACT_ABOVE = 2 ** 20; // bytes of a file in which more than half was sent
const SPACE = 32;
const BREAK = 10;

/** An exposure, which has no value, a report, or that the person leaves. */
export interface Message {
  readonly study: string;
  readonly ticket: string;
  readonly kind: Kind;
  /** With the name of its guardrail before it, and a line break between them. */
  readonly event: string;
  readonly value: number | null;
}

interface Line {
  at: number; // in the file
  length: number; // without the line break
}

export class Outbox {
  readonly #path: string;
  readonly #secret: Buffer;
  #file: FileHandle;
  #size = 0;
  #kept = 0; // bytes of what waits
  readonly #waiting = new Map<Message, Line>(); // in the order of the file
  #unwritten: { message: Message; done: () => void; failed: (why: unknown) => void }[] = [];
  #work: Promise<unknown> = Promise.resolve();

  private constructor(path: string, secret: Buffer, file: FileHandle) {
    [this.#path, this.#secret, this.#file] = [path, secret, file];
  }

  /** The messages in a file; one process may have it open. */
  static async open(path: string, secret: Buffer): Promise<Outbox> {
    const file = await open(path, "a+", 0o600).then(async (made) => {
      await made.close();
      await syncFolder(dirname(path));
      return open(path, "r+"); // what is appended to a file is written at its end whatever place is named
    });
    const outbox = new Outbox(path, secret, file);
    await file.chmod(0o600);
    await outbox.#read();
    return outbox;
  }

  /** Write a message down: it is on disk when this returns, with all that were put at the same time. */
  put(message: Message): Promise<void> {
    return new Promise((done, failed) => {
      this.#unwritten.push({ message, done, failed });
      if (this.#unwritten.length === 1) this.#enqueue(() => this.#append()).catch(() => undefined);
    });
  }

  /** Of which studies something waits. */
  studies(): string[] {
    return [...new Set([...this.#waiting.keys()].map(({ study }) => study))];
  }

  /** The oldest messages of a study, one of each ticket: what was written first of a ticket is sent first. */
  next(study: string, most: number): Message[] {
    const found = new Map<string, Message>();
    for (const message of this.#waiting.keys()) {
      if (found.size === most) break;
      if (message.study === study && !found.has(message.ticket)) found.set(message.ticket, message);
    }
    return [...found.values()];
  }

  /** What the service is sent: the same whenever it is sent. */
  writeBody({ study, ticket, kind, event, value }: Message): Messages["Expose" | "LeaveStudy" | "Report"] {
    if (kind !== "report" || value === null) return { ticket };
    const [first, second] = event.split("\n") as [string, string?];
    // whoever has the secret of the folder makes it too, and nobody else
    const proof = createHmac("sha256", this.#secret).update(`${study}\n${ticket}\n${event}`).digest("hex").slice(0, 32);
    const body = { ticket, value, event: second ?? first, proof };
    return second === undefined ? body : { ...body, metric: first };
  }

  /** Forget messages, as the service has answered. */
  settle(messages: Iterable<Message>): Promise<void> {
    return this.#enqueue(() => this.#forget([...messages]));
  }

  /** Forget all that waits of a ticket. */
  drop(study: string, ticket: string): Promise<void> {
    const isGone = (message: Message) => message.study === study && message.ticket === ticket;
    return this.#enqueue(() => this.#forget([...this.#waiting.keys()].filter(isGone)));
  }

  /** Give the file back. */
  async close(): Promise<void> {
    await this.#enqueue(() => this.#file.close());
  }

  /** One thing after another is done with the file. */
  #enqueue<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#work.then(work).catch((why: unknown) => {
      throw refuseStorage(this.#path, why);
    });
    this.#work = done.catch(() => undefined);
    return done;
  }

  async #read(): Promise<void> {
    const content = await this.#file.readFile();
    let torn = false;
    for (let at = 0; at < content.length; ) {
      const end = content.indexOf(BREAK, at);
      const line = content.subarray(at, end < 0 ? content.length : end);
      const message = end < 0 ? null : parseMessage(line);
      if (message) this.#keep(message, { at, length: line.length });
      else if (line.some((byte) => byte !== SPACE)) {
        torn = true;
        await this.#write(Buffer.alloc(line.length, SPACE), at);
      }
      at += line.length + 1;
    }
    this.#size = content.lastIndexOf(BREAK) + 1;
    if (torn || this.#size !== content.length) await this.#file.truncate(this.#size);
    if (torn) await this.#file.datasync();
  }

  async #append(): Promise<void> {
    const written = this.#unwritten.splice(0);
    const lines = written.map(({ message }) => Buffer.from(`${JSON.stringify(message)}\n`));
    try {
      await this.#write(Buffer.concat(lines), this.#size);
      await this.#file.datasync();
    } catch (why) {
      await this.#file.truncate(this.#size).catch(() => undefined); // else what comes next is written over it
      for (const { failed } of written) failed(refuseStorage(this.#path, why));
      return;
    }
    written.forEach(({ message, done }, number) => {
      const length = (lines[number]?.length ?? 1) - 1;
      this.#keep(message, { at: this.#size, length });
      this.#size += length + 1;
      done();
    });
  }

  #keep(message: Message, line: Line): void {
    this.#waiting.set(message, line);
    this.#kept += line.length + 1;
  }

  async #forget(messages: Message[]): Promise<void> {
    const gone = messages.map((message) => ({ message, line: this.#waiting.get(message) }));
    for (const { line } of gone) if (line) await this.#write(Buffer.alloc(line.length, SPACE), line.at);
    if (gone.length) await this.#file.datasync();
    for (const { message, line } of gone) {
      this.#waiting.delete(message);
      this.#kept -= line ? line.length + 1 : 0;
    }
    if (this.#kept === 0 && this.#size > 0) {
      await this.#file.truncate(0);
      this.#size = 0;
    } else if (this.#size > COMPACT_ABOVE && 2 * this.#kept < this.#size) {
      await this.#compact();
    }
  }

  /** Go on with a file of what waits alone, and overwrite the one before. */
  async #compact(): Promise<void> {
    const fresh = await open(`${this.#path}-new`, "w+", 0o600);
    const lines = [...this.#waiting.keys()].map((message) => Buffer.from(`${JSON.stringify(message)}\n`));
    try {
      await fresh.writeFile(Buffer.concat(lines));
      await fresh.datasync();
      await rename(`${this.#path}-new`, this.#path);
    } catch (why) {
      await fresh.close();
      throw why;
    }
    // the file has its name: from here on it is the one that is written, whatever fails
    const [before, size] = [this.#file, this.#size];
    [this.#file, this.#size] = [fresh, 0];
    for (const line of this.#waiting.values()) {
      line.at = this.#size; // which are as long as before
      this.#size += line.length + 1;
    }
    try {
      await syncFolder(dirname(this.#path));
      await before.write(Buffer.alloc(size, SPACE), 0, size, 0);
      await before.datasync();
    } finally {
      await before.close();
    }
  }

  async #write(content: Buffer, at: number): Promise<void> {
    for (let done = 0; done < content.length; ) {
      done += (await this.#file.write(content, done, content.length - done, at + done)).bytesWritten;
    }
  }
}

/** The message of a line, or null if it was not written to its end. */
function parseMessage(line: Buffer): Message | null {
  try {
    const found = JSON.parse(line.toString()) as Message;
    const { study, ticket, kind, event, value } = found;
    const right = isName(study) && isTicket(ticket) && ["expose", "report", "leave"].includes(kind);
    return right && typeof event === "string" && (kind !== "report" || typeof value === "number") ? found : null;
  } catch {
    return null;
  }
}
