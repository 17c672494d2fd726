/** Devices from which whoever sees the network learns something of an outcome: those that tests have to find. */
import { Device } from "../../src/web/index.js";
import { KEY } from "./fake_service.js";

/** A device that knows what was recorded last, for those that tell. */
class Knowing extends Device {
  happened = 0;

  override async record(study: string, value: number): Promise<boolean> {
    if (value) this.happened += 1;
    return super.record(study, value);
  }

  /** A contact whose requests are changed. */
  async changing(change: (how: RequestInit) => RequestInit): Promise<void> {
    const usual = globalThis.fetch;
    globalThis.fetch = (url, how) => usual(url, change(how!));
    await super.contact().finally(() => (globalThis.fetch = usual));
  }
}

/** Sends only if something was recorded. */
class SendingIfItHappened extends Knowing {
  override async contact(): Promise<void> {
    if (this.happened) await super.contact();
  }
}

/** By what they do: how they report, and what they are. */
export const TWINS: Record<string, [string, typeof Device]> = {
  "that sends when it happens": [
    "standing",
    class extends Knowing {
      override async record(study: string, value: number): Promise<boolean> {
        const counts = await super.record(study, value);
        await this.contact();
        return counts;
      }
    },
  ],
  "that sends only if something was recorded": [
    "local trust",
    SendingIfItHappened,
  ],
  "whose size says what it says": [
    "standing",
    class extends Knowing {
      override async contact(): Promise<void> {
        await this.changing((how) => ({ ...how, body: how.body + " ".repeat(this.happened) }));
      }
    },
  ],
  "whose numbers are as long as they are": [
    "local trust",
    class extends Knowing {
      override async contact(): Promise<void> {
        const long = `${10 ** this.happened}`;
        await this.changing((how) => ({ ...how, body: (how.body as string).replace(/ +\d/, long) }));
      }
    },
  ],
  "that draws anew on a retry if something happened": [
    "local trust",
    class extends Knowing {
      override async contact(): Promise<void> {
        const proof = "0123456789abcdef"[this.happened]!.repeat(32);
        await this.changing((how) => ({ ...how, body: (how.body as string).replace(/[0-9a-f]{32}/, proof) }));
        this.happened &&= (this.happened + 1) % 16;
      }
    },
  ],
  "that sends twice": [
    "standing",
    class extends Knowing {
      override async contact(): Promise<void> {
        await super.contact();
        if (this.happened) await super.contact();
      }
    },
  ],
  "that spares what says nothing new": [
    "standing",
    class extends Knowing {
      said = -1;
      override async contact(): Promise<void> {
        if (this.said !== this.happened) await super.contact();
        this.said = this.happened;
      }
    },
  ],
  "whose bundle has a message less": [
    "with a shuffler",
    class extends Knowing {
      override async contact(): Promise<void> {
        const end = this.happened ? /[^"]{68}"}$/ : /"}$/; // base64 of about a message
        await this.changing((how) => ({ ...how, body: (how.body as string).replace(end, '"}') }));
      }
    },
  ],
  "that asks for a pass when it happens": [
    "with a shuffler",
    class extends Knowing {
      override async record(study: string, value: number): Promise<boolean> {
        const counts = await super.record(study, value);
        if (value) await this.contact();
        return counts;
      }
    },
  ],
  "that shows its key to the shuffler if something happened": [
    "with a shuffler",
    class extends Knowing {
      override async contact(): Promise<void> {
        const key = this.happened ? { Authorization: `Bearer ${KEY}` } : {};
        await this.changing((how) => ({ ...how, headers: { ...how.headers, ...key } }));
      }
    },
  ],
  "that takes part in the round if something happened": [
    "in a round",
    SendingIfItHappened,
  ],
  "that leaves the round if something happened": [
    "in a round",
    class extends Knowing {
      override async contact(): Promise<void> {
        const answer = this.happened ? /"message":"[^"]*"/ : /^$/;
        await this.changing((how) => ({ ...how, body: (how.body as string).replace(answer, '"message":""') }));
      }
    },
  ],
  "with a header of the outcome": [
    "standing",
    class extends Knowing {
      override async contact(): Promise<void> {
        await this.changing((how) => ({ ...how, priority: this.happened ? "high" : "low" }));
      }
    },
  ],
};
