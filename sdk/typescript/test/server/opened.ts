/** Clients of a service on loopback, in a folder of their own, which are closed after each test. */

import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach } from "vitest";

import { Client, type ClientOptions } from "../../src/server/index.js";
import { FakeService, KEY, STUDY } from "./fake_service.js";

export interface Opened {
  service: FakeService;
  folder: string;
  said: string[];
  open(options?: Partial<ClientOptions>): Promise<Client>;
}

export function eachOpens(): Opened {
  const made: Client[] = [];
  const listen = (warning: Error) => opened.said.push(`${warning.name}: ${warning.message}`);
  const opened: Opened = {
    service: new FakeService(),
    folder: "",
    said: [],
    async open(options = {}) {
      const { folder, service } = opened;
      const usual = { url: service.url, key: KEY, study: STUDY, fallback: "plain", folder, deadlineMs: 30_000 };
      const client = await Client.open({ ...usual, ...options });
      made.push(client);
      return client;
    },
  };
  beforeEach(async () => {
    opened.service = new FakeService();
    opened.folder = mkdtempSync(join(tmpdir(), "maskedbandit-"));
    chmodSync(opened.folder, 0o700);
    opened.said = [];
    process.removeAllListeners("warning"); // which would print them
    process.on("warning", listen);
    await opened.service.start();
  });
  afterEach(async () => {
    opened.service.fault = () => undefined;
    for (const client of made.splice(0)) await client.close(0);
    await opened.service.stop();
    process.off("warning", listen);
    rmSync(opened.folder, { recursive: true });
  });
  return opened;
}

/** The same fault for every request. */
export function always<Fault>(fault: Fault): () => Fault {
  return () => fault;
}

/** These faults, and then none. */
export function only<Fault>(...faults: Fault[]): () => Fault | undefined {
  return () => faults.shift();
}
