/** A folder for this user alone, in which outcomes wait: as of Python's client, and with files of other names. */

import { createHash, randomBytes } from "node:crypto";
import { chmod, link, mkdir, open, readFile, rm, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";

import { MaskedBanditError } from "../core/errors.js";

/** Where the files are if nobody says otherwise. */
export function chooseFolder(): string {
  return join(process.env["XDG_STATE_HOME"] || join(homedir(), ".local", "state"), "maskedbandit");
}

/** How the files begin of one study of a service, or of all: what waits for one is never sent to another. */
export function nameFiles(url: string, study: string | null): string {
  return createHash("sha256").update(`${url}\n${study ?? ""}`).digest("hex").slice(0, 16);
}

/** What the system says of a file, as the error of this package. */
export function refuseStorage(path: string, why: unknown): MaskedBanditError {
  if (why instanceof MaskedBanditError) return why;
  const said = why instanceof Error && "code" in why ? String(why.code) : String(why);
  return new MaskedBanditError("storage_failed", `${path}: ${said}`);
}

/** Make the folder, or throw unless this user alone may look into it: sizes and times say that somebody reported. */
export async function prepareFolder(folder: string): Promise<void> {
  if (process.platform === "win32") throw refuseStorage(folder, "a system with sockets in folders is needed");
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const { uid, mode } = await stat(folder);
    if (uid !== process.geteuid?.() || mode & 0o077) {
      const owner = `mode ${(mode & 0o777).toString(8)} of the user with number ${uid}`;
      throw refuseStorage(folder, `it has ${owner}: it must have mode 700, of the user who runs this`);
    }
  } catch (why) {
    throw refuseStorage(folder, why);
  }
}

/** Make sure that a file that was made or renamed in a folder is found there after the machine lost its power. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The secret of which proofs are made: whole, or not there yet. */
export async function readSecret(folder: string, path: string): Promise<Buffer> {
  const found = await readFile(path).catch(() => null);
  if (found?.length === 32) return found;
  const fresh = `${path}-${randomBytes(8).toString("hex")}`;
  const handle = await open(fresh, "wx", 0o600);
  try {
    await handle.writeFile(randomBytes(32));
    await handle.sync();
  } finally {
    await handle.close();
  }
  try {
    await link(fresh, path);
  } finally {
    await rm(fresh);
  }
  await chmod(path, 0o600);
  await syncFolder(folder);
  return readFile(path);
}
