/** One study of a service, for an application's backend. */

import type { PersonAttributes } from "../core/attributes.js";
import type { Assigned } from "./answers.js";
import { Engine, type EngineOptions } from "./engine.js";

const LAST_TRY = 2000; // milliseconds that an application which stops waits for its outcomes to be sent

export interface ClientOptions extends EngineOptions {
  readonly study: string;
  /** The arm for people whom neither the service nor this client knows while the service is away. */
  readonly fallback: string;
}

export class Client {
  readonly #engine: Engine;
  readonly #study: string;
  readonly #fallback: string;

  private constructor(engine: Engine, study: string, fallback: string) {
    [this.#engine, this.#study, this.#fallback] = [engine, study, fallback];
  }

  /** Make one for a process, and keep it. */
  static async open(options: ClientOptions): Promise<Client> {
    return new Client(await Engine.open(options, options.study), options.study, options.fallback);
  }

  /** How many exposures and reports the service refused for good, by the code. */
  get refused(): Record<string, number> {
    return this.#engine.refused;
  }

  /**
   * The arm for a person, whatever happens; throws only if the key, the study or the unit is wrong.
   *
   * The attributes are what the rules of the study on who is enrolled are about: texts, numbers and booleans.
   */
  async assign(unit: string, token?: string, attributes?: PersonAttributes): Promise<Assigned> {
    return this.#engine.assign(this.#study, { unit, token, attributes }, this.#fallback);
  }

  /** The person saw the arm. It is on disk when this returns; without a ticket there is nothing to say. */
  async expose(ticket: string | null): Promise<void> {
    await this.#engine.expose(this.#study, ticket);
  }

  /** The outcome, or one of several with an `event` each. It is on disk when this returns. */
  async report(ticket: string | null, value: number, given: { event?: string; metric?: string } = {}): Promise<void> {
    await this.#engine.report(this.#study, ticket, value, given.event ?? "", given.metric ?? "");
  }

  /** The person leaves: what is kept here is erased, and what the service keeps, as soon as it hears of it. */
  async leave(ticket: string | null): Promise<void> {
    await this.#engine.leave(this.#study, ticket);
  }

  /** Try to send what waits; whether nothing waits any more. */
  async flush(timeoutMs = 10_000): Promise<boolean> {
    return this.#engine.flush(timeoutMs);
  }

  /** Try to send what waits, and stop. What still waits is sent by the next client of this folder. */
  async close(timeoutMs = LAST_TRY): Promise<void> {
    await this.#engine.close(timeoutMs);
  }
}
