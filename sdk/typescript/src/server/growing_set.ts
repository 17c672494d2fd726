/** Names of which none is ever taken out again, in a file of lines. */

import { open, readFile } from "node:fs/promises";

export class GrowingSet {
  readonly #path: string;
  readonly #written: Set<string>;
  readonly #names: Set<string>;

  private constructor(path: string, written: string[]) {
    [this.#path, this.#written, this.#names] = [path, new Set(written), new Set(written)];
  }

  static async open(path: string): Promise<GrowingSet> {
    const text = await readFile(path, "utf8").catch((why: NodeJS.ErrnoException) => {
      if (why.code === "ENOENT") return "";
      throw why;
    });
    return new GrowingSet(path, text.split("\n").slice(0, -1));
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** It is in at once, and on disk when this returns; if the disk fails, the next call tries again. */
  async add(name: string): Promise<void> {
    this.#names.add(name);
    if (this.#written.has(name)) return;
    const handle = await open(this.#path, "a", 0o600);
    try {
      await handle.appendFile(`\n${name}\n`); // what was cut off before it stays a line of its own
      await handle.sync();
    } finally {
      await handle.close();
    }
    this.#written.add(name);
  }
}
