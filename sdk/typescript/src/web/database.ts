import { MaskedBanditError } from "../core/errors.js";

/** What a step of a transaction works on: its stores, by name. */
export type Stores = (name: string) => IDBObjectStore;

/**
 * A database of IndexedDB, which all pages of an origin share.
 *
 * It is opened when it is first used and not made before `create`: until then nothing is stored. Whoever clears the
 * data of the site while a page is open takes it away, and then it is as one that never was.
 */
export class Database {
  readonly #name: string;
  readonly #make: (database: IDBDatabase) => void;
  readonly #stores: string[];
  #opened: Promise<IDBDatabase | null> | undefined;

  constructor(name: string, stores: string[], make: (database: IDBDatabase) => void) {
    this.#name = name;
    this.#stores = stores;
    this.#make = make;
  }

  /** Make it, unless it is there. */
  async create(): Promise<void> {
    if (!(await this.#opened)) await (this.#opened = this.#request(true));
  }

  /** The result of a step that only reads; `none` if there is no database. */
  async read<T>(none: T, step: (stores: Stores) => Promise<T>): Promise<T> {
    return this.#run("readonly", none, step);
  }

  /**
   * The result of a step that writes, once it is on the disk; `none` if there is no database.
   *
   * Either all of it is written or nothing, and no other page of the origin reads or writes between. A step may wait
   * for requests of its own stores only.
   */
  async write<T>(none: T, step: (stores: Stores) => Promise<T>): Promise<T> {
    return this.#run("readwrite", none, step);
  }

  /** Give it back. */
  async close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    (await opened)?.close();
  }

  async #run<T>(mode: IDBTransactionMode, none: T, step: (stores: Stores) => Promise<T>): Promise<T> {
    let transaction: IDBTransaction | undefined;
    for (let last = false; !transaction; last = true) {
      const database = await (this.#opened ??= this.#request(false));
      if (!database) return none;
      try {
        // what is sent must be on the disk before: "relaxed", which browsers take, may lose it with the power
        transaction = database.transaction(this.#stores, mode, { durability: "strict" });
      } catch (wrong) {
        this.#opened = undefined; // somebody closed it: there may be another
        if (last) throw refuseStorage(wrong);
      }
    }
    const used = transaction;
    const done = new Promise<void>((keep, fail) => {
      used.oncomplete = () => keep();
      used.onabort = () => fail(refuseStorage(used.error));
    });
    try {
      const result = await step((name) => used.objectStore(name));
      await done;
      return result;
    } catch (wrong) {
      await abortStep(used, done);
      throw wrong instanceof MaskedBanditError ? wrong : refuseStorage(wrong);
    }
  }

  async #request(create: boolean): Promise<IDBDatabase | null> {
    const request = indexedDB.open(this.#name, 1);
    request.onupgradeneeded = () => {
      if (create) this.#make(request.result);
      else request.transaction?.abort(); // then nothing was made
    };
    const forget = (): void => {
      this.#opened = undefined;
    };
    try {
      const database = await finish(request);
      database.onclose = forget;
      database.onversionchange = () => {
        database.close();
        forget();
      };
      return database;
    } catch (wrong) {
      forget();
      if (!create && wrong instanceof DOMException && wrong.name === "AbortError") return null;
      throw refuseStorage(wrong);
    }
  }
}

/** The result of a request, when it is there. */
export function finish<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((keep, fail) => {
    request.onsuccess = () => keep(request.result);
    request.onerror = () => fail(request.error);
  });
}

async function abortStep(transaction: IDBTransaction, done: Promise<void>): Promise<void> {
  try {
    transaction.abort();
  } catch {
    // it has ended already
  }
  await done.catch(() => undefined);
}

function refuseStorage(wrong: unknown): MaskedBanditError {
  const why = wrong instanceof Error ? `${wrong.name}: ${wrong.message}` : "it was aborted";
  return new MaskedBanditError("storage_failed", `the storage of this browser failed (${why}): nothing was taken`);
}
