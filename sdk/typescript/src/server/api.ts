// Written by `npm run types` from the service's OpenAPI document: not to be changed by hand.

export interface paths {
    "/v1/studies/{study}/assign": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give a person an arm. The same person always gets the same one, and is charged once.
         * @description For keys of role client or device.
         */
        post: operations["post_v1_studies_study_assign"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/expose": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Say that the person saw the arm: from now on the outcome counts.
         * @description For keys of role client or device.
         */
        post: operations["post_v1_studies_study_expose"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/report": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Report the person's outcome. The first report counts; only its proof tells whether there was one.
         * @description For keys of role client or device.
         */
        post: operations["post_v1_studies_study_report"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/assign/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give several people their arms.
         * @description For keys of role client.
         */
        post: operations["post_v1_studies_study_assign_batch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/expose/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Say of several people that they saw their arms.
         * @description For keys of role client.
         */
        post: operations["post_v1_studies_study_expose_batch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/report/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Report the outcomes of several people.
         * @description For keys of role client.
         */
        post: operations["post_v1_studies_study_report_batch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/budget": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * What the person who has this ticket has spent in this period, in all studies of the project, and may spend.
         * @description For keys of role client or device.
         */
        post: operations["post_v1_studies_study_budget"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/arms": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Add an arm. Its name was never that of another arm of the study, and never will be.
         * @description For keys of role owner.
         */
        post: operations["post_v1_studies_study_arms"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/arms/{arm}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give nobody this arm from now on; people who have it keep it.
         * @description For keys of role owner or officer.
         */
        post: operations["post_v1_studies_study_arms_arm_pause"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/arms/{arm}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give people this arm again.
         * @description For keys of role owner.
         */
        post: operations["post_v1_studies_study_arms_arm_resume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/round": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Take what the device answers in the round of its cohort, and say what is due from it now. */
        post: operations["post_v1_studies_study_round"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * All keys, without their secrets.
         * @description For keys of role owner.
         */
        get: operations["get_v1_keys"];
        put?: never;
        /**
         * Make a key, which is shown only once.
         * @description For keys of role owner.
         */
        post: operations["post_v1_keys"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/keys/{key}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make a key in place of another, which is valid for one more day.
         * @description For keys of role owner.
         */
        post: operations["post_v1_keys_key_rotate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/keys/{key}/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End a key at once.
         * @description For keys of role owner.
         */
        post: operations["post_v1_keys_key_revoke"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/releases": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * All that was released.
         * @description For keys of role owner or officer.
         */
        get: operations["get_v1_studies_study_releases"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/releases.csv": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * All that was released, one row a release, as CSV.
         * @description For keys of role owner or officer.
         */
        get: operations["get_v1_studies_study_releases_csv"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/ledger": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The entries of the ledger after entry number `after`, at most 10 000 of them.
         * @description For keys of role owner or officer.
         */
        get: operations["get_v1_studies_study_ledger"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/ledger/head": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The newest entry that was published: note it, and no later ledger can leave it out unnoticed.
         * @description For keys of role owner or officer.
         */
        get: operations["get_v1_studies_study_ledger_head"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Recompute all that is stored of the study. Whatever does not fit is an error, and nothing is changed.
         * @description For keys of role owner or officer.
         */
        post: operations["post_v1_studies_study_verify"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The ledger as it grows, as server-sent events: each entry with its number, and `changed` when a count has.
         * @description For keys of role owner or officer.
         */
        get: operations["get_v1_studies_study_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ofrep/v1/evaluate/flags/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give a person an arm.
         * @description For keys of role client.
         */
        post: operations["post_ofrep_v1_evaluate_flags_key"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ofrep/v1/evaluate/flags": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * The arms that a person has in all studies; nobody is enrolled.
         * @description For keys of role client.
         */
        post: operations["post_ofrep_v1_evaluate_flags"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the server answers. */
        get: operations["get_healthz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the last round of the clock wrote all studies: their ledgers hold, and nobody else has them. */
        get: operations["get_readyz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This document. */
        get: operations["get_openapi_json"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/person": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * What a study has of the person who has this token; nobody is enrolled.
         * @description For keys of role device.
         */
        post: operations["post_v1_studies_study_person"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/person/leave": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Erase what is kept of the person who has this token. It may be asked again, and is answered the same.
         * @description For keys of role device.
         */
        post: operations["post_v1_studies_study_person_leave"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/results": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The estimate of each arm, with its interval, and what that would be without privacy noise.
         * @description For keys of role owner or officer.
         */
        get: operations["get_v1_studies_study_results"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/statement": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The privacy statement, after all that is stored of the study was recomputed; what does not fit is an error.
         * @description For keys of role owner or officer.
         */
        get: operations["get_v1_studies_study_statement"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sites/pair": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A site pairs with this coordinator by an invitation, which is spent, and gets a credential, shown once. */
        post: operations["post_v1_sites_pair"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/sites": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Have another list of sites: some join, leave, or have other shares. Each site has to agree to it.
         * @description For keys of role owner or officer.
         */
        put: operations["put_v1_studies_study_sites"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/site": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The protocol of a study of sites, and, once it is started, the keys of all sites and later lists of them.
         * @description For keys of role site.
         */
        get: operations["get_v1_studies_study_site"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/site/assign": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give a person of the site an arm. The same person always gets the same one, and is charged once.
         * @description For keys of role site.
         */
        post: operations["post_v1_studies_study_site_assign"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/site/expose": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Say that a person of the site saw the arm: from now on the outcome counts.
         * @description For keys of role site.
         */
        post: operations["post_v1_studies_study_site_expose"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/site/erase": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Erase the data of a person of the site. What was released, and charged, stays.
         * @description For keys of role site.
         */
        post: operations["post_v1_studies_study_site_erase"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/site/rounds": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Take what the site answers in rounds, and say what is due from it now.
         * @description For keys of role site.
         */
        post: operations["post_v1_studies_study_site_rounds"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * All studies that the key may see.
         * @description For keys of role owner or officer.
         */
        get: operations["get_v1_studies"];
        put?: never;
        /**
         * Write a new study down as a draft; its name must be free.
         * @description For keys of role owner.
         */
        post: operations["post_v1_studies"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/validate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Check a protocol, and say what it promises. Nothing is written.
         * @description For keys of role owner.
         */
        post: operations["post_v1_studies_validate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * How a study stands.
         * @description For keys of role owner or officer.
         */
        get: operations["get_v1_studies_study"];
        /**
         * Put another protocol in place of a draft's, whose hash `If-Match` says.
         * @description For keys of role owner.
         */
        put: operations["put_v1_studies_study"];
        post?: never;
        /**
         * Delete a draft, the hash of whose protocol `If-Match` says; nothing of it is kept.
         * @description For keys of role owner.
         */
        delete: operations["delete_v1_studies_study"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/protocol": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The protocol of a study, as it was sent.
         * @description For keys of role owner or officer.
         */
        get: operations["get_v1_studies_study_protocol"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Approve the protocol of a draft, by its hash: with an officer in the project, it is not started without that.
         * @description For keys of role officer.
         */
        post: operations["post_v1_studies_study_approve"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/start": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Freeze the protocol and begin; with `?simulated=1` the ledger says for ever that nobody takes part.
         * @description For keys of role owner.
         */
        post: operations["post_v1_studies_study_start"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give no more places, for ever; releases of full cohorts go on. With `?without_helper=1` cohorts that wait for a helper are given up.
         * @description For keys of role owner or officer.
         */
        post: operations["post_v1_studies_study_stop"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/erase": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Erase a person's data. What was released, and charged, stays; the person takes no further part.
         * @description For keys of role owner or officer.
         */
        post: operations["post_v1_studies_study_erase"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give no more places; reports and releases go on.
         * @description For keys of role owner or officer.
         */
        post: operations["post_v1_studies_study_pause"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Go on after a pause.
         * @description For keys of role owner.
         */
        post: operations["post_v1_studies_study_resume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/archive": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Erase the data of all people; releases stay.
         * @description For keys of role owner.
         */
        post: operations["post_v1_studies_study_archive"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/upload": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Upload a sealed report. The one with the highest turn counts; a retry has no effect. */
        post: operations["post_v1_studies_study_upload"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/pass": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** The pass of a place whose arm was seen, in a study with a shuffler. It may be asked again, and is the same. */
        post: operations["post_v1_studies_study_pass"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/studies/{study}/leave": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Erase what is kept of the person who has this ticket. It may be asked again, and is answered the same. */
        post: operations["post_v1_studies_study_leave"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * All webhooks, without their secrets, and whether their receivers answer.
         * @description For keys of role owner.
         */
        get: operations["get_v1_webhooks"];
        put?: never;
        /**
         * Add a webhook: what is published from now on is sent to this address. The secret is shown only once.
         * @description For keys of role owner.
         */
        post: operations["post_v1_webhooks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{webhook}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Delete a webhook: nothing more is sent, and what waits is dropped.
         * @description For keys of role owner.
         */
        delete: operations["delete_v1_webhooks_webhook"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * NewArm
         * @description An arm to be added to a study that runs.
         */
        NewArm: {
            name: string;
            /** @default null */
            payload?: unknown;
        };
        /**
         * Evaluate
         * @description The context of an evaluation: `targetingKey` is the unit; texts, numbers and booleans are its attributes.
         */
        Evaluate: {
            /** @default {} */
            context?: Record<string, never>;
        };
        /**
         * Evaluation
         * @description A flag for a person: its value is the payload of the arm, or the arm's name if it has none.
         */
        Evaluation: {
            key: string;
            value: unknown;
            variant: string;
            reason: string;
            metadata: {
                [key: string]: string | boolean;
            };
        };
        /**
         * Evaluations
         * @description All flags that the person has.
         */
        Evaluations: {
            flags: components["schemas"]["Evaluation"][];
        };
        /**
         * Fault
         * @description Why a flag could not be evaluated.
         */
        Fault: {
            key: string;
            errorCode: string;
            errorDetails: string;
        };
        /**
         * AskPerson
         * @description A person, with the token of the application's backend.
         */
        AskPerson: {
            /** @description the application's name of a person */
            unit: string;
            /** @default null */
            token?: string | null;
        };
        /**
         * Pair
         * @description A leader that has an invitation.
         */
        Pair: {
            token: string;
            /** @description for people */
            name: string;
            /** @description 32 bytes in hexadecimal */
            seals: string;
            /** @description 32 bytes in hexadecimal */
            signs: string;
            signature: string;
        };
        /**
         * Paired
         * @description The credential of the leader, shown only once, and who the helper is.
         */
        Paired: {
            credential: string;
            name: string;
            seals: string;
            signs: string;
        };
        /**
         * KeyListed
         * @description A key without its secret.
         */
        KeyListed: {
            key: string;
            role: string;
            study: string | null;
            made: number;
            ends: number | null;
            origins: string[];
            last_used: string | null;
        };
        /**
         * KeyMade
         * @description A new key. It is shown only once.
         */
        KeyMade: {
            key: string;
        };
        /**
         * KeysListed
         * @description All keys.
         */
        KeysListed: {
            keys: components["schemas"]["KeyListed"][];
        };
        /**
         * NewKey
         * @description A key to be made; one of a device is for a study, and for pages of these origins, as `https://shop.example`.
         */
        NewKey: {
            /** @enum {unknown} */
            role: "client" | "device" | "officer" | "owner";
            /** @default null */
            study?: string | null;
            /** @default [] */
            origins?: string[];
        };
        /**
         * AskPass
         * @description A person's device asks for the pass of its place.
         */
        AskPass: {
            /** @description secret of one person */
            ticket: string;
        };
        /**
         * Assign
         * @description A person comes, with a token of the application's backend in studies that ask for one.
         *
         *         With `evaluated` it is as if a flag was evaluated: the arm counts as seen, unless the protocol says otherwise.
         */
        Assign: {
            /** @description the application's name of a person */
            unit: string;
            /** @default null */
            token?: string | null;
            /** @default false */
            evaluated?: boolean;
            /** @default null */
            attributes?: {
                [key: string]: string | number | boolean;
            } | null;
        };
        /**
         * AssignBatch
         * @description Several people at once.
         */
        AssignBatch: {
            requests: components["schemas"]["Assign"][];
        };
        /**
         * Assigned
         * @description What the person gets. Without a ticket the person is served the arm, and nobody asks for an outcome.
         */
        Assigned: {
            study: string;
            arm: string;
            payload: unknown;
            ticket: string | null;
            propensity: string;
            again: boolean;
            /** @default null */
            offer?: string | null;
            /** @default false */
            exposed?: boolean;
            /** @default null */
            why?: ("budget_exceeded" | "finished" | "not_eligible" | "not_yet" | "other_study") | null;
            /** @default null */
            device?: components["schemas"]["DevicePlace"] | null;
        };
        /**
         * DevicePlace
         * @description What a person's device is handed, to join with, if it makes the reports private; times are in milliseconds.
         */
        DevicePlace: {
            study: string;
            arm: string;
            ticket: string;
            again: boolean;
            exposed: number | null;
            offer: string;
            terms: components["schemas"]["DeviceTerms"];
            window: number;
            grace: number;
            least: number;
            most: number;
            default: number;
            /** @default 1 */
            cap?: number;
            /** @default [] */
            further?: components["schemas"]["DeviceOutcome"][];
            /** @default null */
            operators?: components["schemas"]["DeviceOperator"][] | null;
            /** @default null */
            rounds?: components["schemas"]["PlaceRounds"] | null;
        };
        /**
         * DeviceTerms
         * @description To what a device binds its reports, besides the offer and the place.
         */
        DeviceTerms: {
            protocol: string;
            /** @default null */
            cohort?: number | null;
        };
        /**
         * DeviceOutcome
         * @description A further outcome: the guardrail or a metric.
         */
        DeviceOutcome: {
            name: string;
            least: number;
            most: number;
            default: number;
            /** @default 1 */
            cap?: number;
        };
        /**
         * DeviceOperator
         * @description An operator for whom devices seal, with its public keys in hexadecimal.
         */
        DeviceOperator: {
            name: string;
            seals: string;
            signs: string;
            address: string;
        };
        /**
         * PlaceRounds
         * @description What the devices of a cohort agree on that add up by themselves: the keys of the backend `secagg`.
         */
        PlaceRounds: {
            corrupted: string;
            server: string;
            graph: string;
            smallest: number;
            attempts: number;
        };
        /**
         * Budget
         * @description What a person has spent in the present period, and may spend; the period is in milliseconds, null is for ever.
         */
        Budget: {
            spent: string;
            budget: string;
            period: number | null;
        };
        /**
         * Erase
         * @description A person whose data is to be erased.
         */
        Erase: {
            /** @description the application's name of a person */
            unit: string;
        };
        /**
         * Erased
         * @description Of how many places the data was erased; what was released stays.
         */
        Erased: {
            places: number;
        };
        /**
         * Expose
         * @description The person saw the arm: the window of the outcome begins.
         */
        Expose: {
            /** @description secret of one person */
            ticket: string;
        };
        /**
         * ExposeBatch
         * @description Several exposures at once.
         */
        ExposeBatch: {
            requests: components["schemas"]["Expose"][];
        };
        /**
         * Exposed
         * @description The exposure is written down.
         */
        Exposed: {
            /** @default exposed */
            status?: string;
        };
        /**
         * Health
         * @description Whether the server lives, and whether it can write all studies; and what somebody should look at all the same.
         */
        Health: {
            status: string;
            /** @default [] */
            warnings?: string[];
        };
        /**
         * LeaveStudy
         * @description A person's device leaves.
         */
        LeaveStudy: {
            /** @description secret of one person */
            ticket: string;
        };
        /**
         * PassGiven
         * @description The pass of a place, for the study's shuffler alone: whoever has it may send the report of the place.
         */
        PassGiven: {
            shown: string;
            /** @default given */
            status?: string;
        };
        /**
         * Problem
         * @description Why a request was refused (RFC 9457), or one item of a batch; `code` is for programs, `detail` for people.
         */
        Problem: {
            type: string;
            title: string;
            status: number;
            code: string;
            detail: string;
            /** @default [] */
            faults?: components["schemas"]["WrongValue"][];
        };
        /**
         * WrongValue
         * @description What is wrong at a place of a protocol.
         */
        WrongValue: {
            place: string;
            detail: string;
        };
        /**
         * Report
         * @description The person's outcome, or one of several with an event each.
         */
        Report: {
            /** @description secret of one person */
            ticket: string;
            value: number;
            /** @default  */
            event?: string;
            /** @default  */
            metric?: string;
            /**
             * @description a secret of the sender: only with it the answer tells what came before
             * @default
             */
            proof?: string;
        };
        /**
         * ReportBatch
         * @description Several reports at once.
         */
        ReportBatch: {
            requests: components["schemas"]["Report"][];
        };
        /**
         * ReportUploaded
         * @description The report of the highest turn counts. `stored`, or `duplicate` if it, or a newer one, came before.
         */
        ReportUploaded: {
            status: string;
        };
        /**
         * Reported
         * @description The first report counts. `accepted`, or `duplicate` if it came before with the same value and the same proof.
         */
        Reported: {
            status: string;
        };
        /**
         * StudyLeft
         * @description Nothing of whoever had this ticket is kept any more, but what was released.
         */
        StudyLeft: {
            /** @default left */
            status?: string;
        };
        /**
         * UploadReport
         * @description A report that a person's device has sealed for two operators.
         */
        UploadReport: {
            /** @description secret of one person */
            ticket: string;
            /** @description the report's name */
            report: string;
            turn: number;
            /** @description base64url */
            leader: string;
            /** @description base64url */
            helper: string;
        };
        /**
         * AnswerRound
         * @description What the device of the person who has this ticket answers, if anything was due, and asks what is due now.
         */
        AnswerRound: {
            /** @description secret of one person */
            ticket: string;
            answers: components["schemas"]["AnsweredByDevice"][];
        };
        /**
         * AnsweredByDevice
         * @description What the device answers in one phase; with no message it leaves the attempt.
         */
        AnsweredByDevice: {
            cohort: number;
            attempt: number;
            phase: number;
            message: string;
        };
        /**
         * RoundDueNow
         * @description What is due from the device; nothing will be any more once its cohort was released, or never will be.
         */
        RoundDueNow: {
            due: components["schemas"]["RoundOfDevice"] | null;
            over: boolean;
        };
        /**
         * RoundOfDevice
         * @description A phase of a round, in which an answer is due from the device.
         */
        RoundOfDevice: {
            cohort: number;
            attempt: number;
            n: number;
            ring: string;
            phase: number;
            message: string;
        };
        /**
         * AnswerRounds
         * @description What the site answers in all rounds that are under way.
         */
        AnswerRounds: {
            answers: components["schemas"]["RoundAnswered"][];
            /** @default  */
            confirmed?: string;
            /** @default  */
            signed?: string;
        };
        /**
         * RoundAnswered
         * @description What the site answers in one phase; with no message it leaves the attempt.
         */
        RoundAnswered: {
            cohort: number;
            attempt: number;
            phase: number;
            message: string;
        };
        /**
         * AssignAtSite
         * @description A person of the site comes, by the name that the site made for the coordinator: 64 hexadecimal digits.
         */
        AssignAtSite: {
            person: string;
            /** @default false */
            evaluated?: boolean;
            /** @default null */
            attributes?: {
                [key: string]: string | number | boolean;
            } | null;
        };
        /**
         * ChangeSites
         * @description Another list of the sites of a study that runs, as in the [sites] table of its protocol.
         */
        ChangeSites: {
            list: {
                [key: string]: string;
            }[];
        };
        /**
         * EraseAtSite
         * @description A person of the site whose data is to be erased.
         */
        EraseAtSite: {
            person: string;
        };
        /**
         * ExposeAtSite
         * @description The person saw the arm.
         */
        ExposeAtSite: {
            /** @description secret of one person */
            ticket: string;
        };
        /**
         * PlaceOfSite
         * @description What the person gets, and of a place its cohort.
         */
        PlaceOfSite: {
            assigned: components["schemas"]["Assigned"];
            cohort: number | null;
        };
        /**
         * RoundsDue
         * @description What is due from the site.
         */
        RoundsDue: {
            state: string;
            due: components["schemas"]["RoundOfSite"][];
            sites: string;
            first: number;
            listed: boolean;
        };
        /**
         * RoundOfSite
         * @description A phase of a round, in which an answer is due from the site.
         */
        RoundOfSite: {
            cohort: number;
            attempt: number;
            n: number;
            weights: number[];
            ring: string;
            phase: number;
            message: string;
            tickets: string[];
        };
        /**
         * StudyOfSite
         * @description A study, for one of its sites: the text of its protocol, both public keys of each site of it, and later lists.
         */
        StudyOfSite: {
            study: string;
            state: string;
            protocol: string;
            sites: string[][];
            lists: components["schemas"]["ListOfSites"][];
        };
        /**
         * ListOfSites
         * @description A list of the sites of a study: the name, the share and both public keys of each, from a cohort on.
         */
        ListOfSites: {
            first: number;
            sites: string[][];
        };
        /**
         * Approve
         * @description The protocol that an officer of privacy has looked at and approves, by its hash.
         */
        Approve: {
            protocol: string;
        };
        /**
         * Deleted
         * @description A draft that was deleted.
         */
        Deleted: {
            study: string;
        };
        /**
         * Studies
         * @description All studies that the key may see.
         */
        Studies: {
            studies: components["schemas"]["StudyState"][];
        };
        /**
         * StudyState
         * @description A study, and how it stands.
         */
        StudyState: {
            study: string;
            about: string;
            state: string;
            simulated: boolean;
            people: number;
            of: number | null;
            arms: string[];
            in_play: string[];
            policy: string;
            channel: string;
            trust: string;
            budget: string;
            period: number | null;
            window: number;
            protocol: string;
            /** @default null */
            finished?: components["schemas"]["Finished"] | null;
            /** @default null */
            control?: string | null;
            /** @default [] */
            attention?: components["schemas"]["AttentionItem"][];
            /** @default [] */
            approved_by?: string[];
            /** @default false */
            needs_approval?: boolean;
        };
        /**
         * Finished
         * @description A study gives nobody a place any more: why, and since when, in milliseconds.
         */
        Finished: {
            /** @enum {unknown} */
            why: "all_arms_harmful" | "answer_found" | "asks_for_nobody" | "people_used_up";
            since: number;
        };
        /**
         * AttentionItem
         * @description Something of a study that somebody should look at: what is so, and what to do.
         */
        AttentionItem: {
            /** @enum {unknown} */
            kind: "budget_nearly_spent" | "clock_ahead" | "harmful_arm" | "nobody_comes" | "nobody_reports" | "one_window" | "places_unseen" | "sample_ratio" | "witness_behind" | "wrong_places";
            says: string;
            advice: string;
            /** @default null */
            arm?: string | null;
            /** @default null */
            since?: number | null;
        };
        /**
         * Validated
         * @description A protocol that is allowed, and what it promises.
         */
        Validated: {
            study: string;
            protocol: string;
            price: string;
            budget: string;
            trust: string;
        };
        /**
         * Ledger
         * @description Entries of the ledger, and the public key with which they are signed.
         */
        Ledger: {
            study: string;
            key: string;
            entries: components["schemas"]["LedgerEntry"][];
        };
        /**
         * LedgerEntry
         * @description An entry of the ledger, as it is stored: its hash follows from the body and the hash before it.
         */
        LedgerEntry: {
            number: number;
            body: string;
            hash: string;
            signature: string;
        };
        /**
         * LedgerHead
         * @description The newest entry that was published.
         */
        LedgerHead: {
            study: string;
            entries: number;
            hash: string;
        };
        /**
         * Releases
         * @description All releases so far, in the order in which they were made.
         */
        Releases: {
            study: string;
            simulated: boolean;
            releases: components["schemas"]["Released"][];
        };
        /**
         * Released
         * @description A release: the sum of a cohort's rewards, scaled to [0, 1], with privacy noise.
         */
        Released: {
            cohort: number;
            arm: string;
            n: number;
            total: number;
            mean: number;
            loss: string;
            at: number;
            entry: number;
            /** @default {} */
            further?: {
                [key: string]: number;
            };
        };
        /**
         * Results
         * @description What a study has found so far. The intervals are valid at all times together, whenever somebody looks at them.
         *
         *         An effect is read from `compared` alone: the means of two arms are those of other people. What is said of the best
         *         arm with a confidence of 0.95 or more is ever wrong in at most 5 of 100 studies, and 10 if arms were added.
         */
        Results: {
            study: string;
            simulated: boolean;
            state: string;
            answer: string | null;
            selected: string[] | null;
            loss: string;
            arms: components["schemas"]["ArmResult"][];
            /** @default null */
            gain?: components["schemas"]["Compared"] | null;
        };
        /**
         * ArmResult
         * @description What the releases say of an arm: its mean, and an interval that holds it at any time, in 95 of 100 studies.
         */
        ArmResult: {
            arm: string;
            stands: string;
            n: number;
            mean: number | null;
            low: number | null;
            high: number | null;
            low_without_noise: number | null;
            high_without_noise: number | null;
            surely_best: number | null;
            surely_beaten: number | null;
            /** @default null */
            compared?: components["schemas"]["Compared"] | null;
            /** @default null */
            guardrail?: components["schemas"]["GuardrailResult"] | null;
            /** @default [] */
            metrics?: components["schemas"]["MetricResult"][];
        };
        /**
         * Compared
         * @description What an arm has more than another one over the same people, and an interval that holds it at any time.
         *
         *         The other one is the control, if the study has one, or else the first.
         */
        Compared: {
            minus: string;
            difference: number;
            low: number;
            high: number;
        };
        /**
         * GuardrailResult
         * @description What the releases say of the second outcome of an arm; an interval holds its mean at any time.
         */
        GuardrailResult: {
            n: number;
            mean: number;
            low: number;
            high: number;
        };
        /**
         * MetricResult
         * @description What the releases say of a metric of an arm.
         *
         *         Each interval holds what it is of at any time, in 95 of 100 studies: with many metrics and arms one of them is wrong
         *         in more studies than that.
         */
        MetricResult: {
            metric: string;
            n: number;
            mean: number;
            low: number;
            high: number;
            /** @default null */
            compared?: components["schemas"]["Compared"] | null;
        };
        /**
         * Verified
         * @description Everything was recomputed from the rows, and fits.
         */
        Verified: {
            study: string;
            entries: number;
            head: string;
            releases: number;
            people: number;
            worst: string;
        };
        /**
         * PersonShown
         * @description What a study has of a person: no place, if there is none or the person left.
         */
        PersonShown: {
            study: string;
            about: string;
            trust: string;
            operators: components["schemas"]["PersonOperator"][];
            spent: string;
            budget: string;
            period: number | null;
            place: components["schemas"]["PersonPlace"] | null;
        };
        /**
         * PersonOperator
         * @description One of two operators, with the fingerprint of its keys.
         */
        PersonOperator: {
            name: string;
            key: string;
        };
        /**
         * PersonPlace
         * @description A place in a study; times are in milliseconds since 1970, null if the arm was not seen yet.
         */
        PersonPlace: {
            arm: string;
            cost: string;
            assigned: number;
            exposed: number | null;
            ends: number | null;
            taken_until: number | null;
            reported: number | null;
        };
        /**
         * NewWebhook
         * @description A webhook to be made: for a study or, without one, for all; of all kinds, unless some are named.
         */
        NewWebhook: {
            /** @description https://..., or http://localhost:... */
            url: string;
            /** @default null */
            study?: string | null;
            /** @default [] */
            kinds?: ("arm" | "attention" | "finished" | "released" | "state")[];
        };
        /**
         * WebhookDeleted
         * @description A webhook that was deleted.
         */
        WebhookDeleted: {
            webhook: string;
        };
        /**
         * WebhookMade
         * @description A new webhook, and the secret by which its receiver checks signatures. The secret is shown only once.
         */
        WebhookMade: {
            webhook: string;
            secret: string;
        };
        /**
         * WebhooksListed
         * @description All webhooks.
         */
        WebhooksListed: {
            webhooks: components["schemas"]["WebhookListed"][];
        };
        /**
         * WebhookListed
         * @description A webhook without its secret, and whether its receiver answers; times are in milliseconds.
         */
        WebhookListed: {
            webhook: string;
            url: string;
            study: string | null;
            kinds: string[];
            made: number;
            sent: number | null;
            waiting: number;
            failing: number | null;
            error: string;
            lost: number;
        };
        /**
         * Statement
         * @description A privacy statement.
         */
        Statement: {
            /** @enum {unknown} */
            format: "maskedbandit statement 1";
            /** @enum {unknown} */
            kind: "experiment" | "study";
            name: string;
            about: string;
            project: string | null;
            simulated: boolean;
            state: string;
            as_of: string | null;
            version: string;
            /** @description SHA-256 in hexadecimal */
            protocol: string;
            odds: string;
            person: components["schemas"]["Amount"][];
            promises: components["schemas"]["Promise"][];
            trust: string;
            not_protected: string[];
            assumptions: string[];
            points: components["schemas"]["Points"];
            evidence: components["schemas"]["Evidence"];
            ledger: components["schemas"]["Chain"] | null;
            registry: components["schemas"]["Registry"] | null;
        };
        /**
         * Amount
         * @description What is lost, or may be lost, by one person.
         */
        Amount: {
            what: string;
            loss: string;
            epsilon: number | null;
            delta: number;
            right: number;
        };
        /**
         * Promise
         * @description What one channel promises each person, with one policy.
         */
        Promise: {
            label: string;
            policy: string;
            channel: string;
            trust: string;
            sees: string;
            variant: string;
            loss: components["schemas"]["Amount"];
            needs: string;
        };
        /**
         * Points
         * @description The points by which NIST SP 800-226 asks to judge a guarantee, each in a sentence or a few.
         */
        Points: {
            definition: string;
            parameters: string;
            unit: string;
            neighbours: string;
            contribution: string;
            mechanism: string;
            composition: string;
            budget: string;
            post_processing: string;
            query_model: string;
            trust_model: string;
            data_collection: string;
            access: string;
            numerics: string;
            randomness: string;
            timing: string;
            utility: string;
            bias: string;
            choices: string;
            testing: string;
        };
        /**
         * Evidence
         * @description What stands behind the statement.
         */
        Evidence: {
            tested: components["schemas"]["Tested"][];
            audits: components["schemas"]["Audited"][];
            versions: components["schemas"]["Version"][];
        };
        /**
         * Tested
         * @description A claim, and the tests of this version that would fail if it were not so.
         */
        Tested: {
            claim: string;
            tests: string[];
        };
        /**
         * Audited
         * @description What an audit found: a lower bound on what one person loses.
         */
        Audited: {
            target: string;
            protocol: string | null;
            date: string;
            version: string;
            method: string;
            samples: number;
            confidence: number;
            promised: string;
            lower_bound: string;
            control: string;
            left_out: string[];
            /** @description SHA-256 in hexadecimal */
            digest: string;
        };
        /**
         * Version
         * @description What was used.
         */
        Version: {
            name: string;
            version: string;
        };
        /**
         * Chain
         * @description The ledger that the statement was made from.
         */
        Chain: {
            entries: number;
            releases: number;
            /** @description SHA-256 in hexadecimal */
            head: string;
            /** @description SHA-256 in hexadecimal */
            key: string;
        };
        /**
         * Registry
         * @description The record, and what is missing from it.
         */
        Registry: {
            record: components["schemas"]["Record"];
            left_out: string[];
        };
        /**
         * Record
         * @description The record, without what is left out.
         */
        Record: {
            url_slug: string;
            deployment: components["schemas"]["Deployment"];
        };
        /**
         * Deployment
         * @description A deployment.
         */
        Deployment: {
            basic: components["schemas"]["Basic"];
            dp_variant: components["schemas"]["DPVariant"];
            privacy_loss: components["schemas"]["PrivacyLoss"];
            deployment_model: components["schemas"]["DeploymentModel"];
            implementation: components["schemas"]["Implementation"];
            administrative: components["schemas"]["Administrative"];
        };
        /**
         * Basic
         * @description What the data product is.
         */
        Basic: {
            name: string;
            description: string;
            intended_use: string;
            /** @enum {unknown} */
            data_product_type: "Summary statistics";
            /** @default null */
            publication_date?: string | null;
        };
        /**
         * DPVariant
         * @description The kind of privacy.
         */
        DPVariant: {
            /** @enum {unknown} */
            variant_name: "Approximate DP" | "Pure DP" | "Renyi DP" | "Zero-concentrated DP";
            data_domain: string;
            unprotected_quantities: string;
        };
        /**
         * PrivacyLoss
         * @description How much, of what.
         */
        PrivacyLoss: {
            privacy_unit: string;
            privacy_unit_details: string;
            number_of_privacy_units: number;
            privacy_parameters: components["schemas"]["Parameters"];
            privacy_parameters_details: string;
        };
        /**
         * Parameters
         * @description How much of it.
         */
        Parameters: {
            /** @default null */
            epsilon?: number | null;
            /** @default null */
            delta?: number | null;
            /** @default null */
            rho?: number | null;
        };
        /**
         * DeploymentModel
         * @description Who is trusted, and what is published when.
         */
        DeploymentModel: {
            /** @enum {unknown} */
            model_name: "Central" | "Distributed" | "Local";
            trust_assumptions: string;
            actors: string;
            /** @enum {unknown} */
            release_type: "Many releases";
            release_type_details: string;
            /** @enum {unknown} */
            data_source_type: "Dynamic";
            data_source_type_details: string;
            /** @enum {unknown} */
            access_type: "Non-interactive";
            access_type_details: string;
        };
        /**
         * Implementation
         * @description How it is done.
         */
        Implementation: {
            preprocessing_and_hyperparameter_tuning: string;
            mechanisms: string;
            composition: string;
            post_processing: string;
            justification: string;
            utility: string;
            additional_information: string;
        };
        /**
         * Administrative
         * @description How complete the record is.
         */
        Administrative: {
            /** @enum {unknown} */
            status: "Draft";
            /** @enum {unknown} */
            tier: 3;
        };
        /**
         * Items[Assigned]
         * @description What came of a batch, in the order of its requests.
         */
        Items_Assigned_: {
            items: components["schemas"]["Item_Assigned_"][];
        };
        /**
         * Item[Assigned]
         * @description What came of one request of a batch: an answer or a problem.
         */
        Item_Assigned_: {
            status: number;
            /** @default null */
            answer?: components["schemas"]["Assigned"] | null;
            /** @default null */
            problem?: components["schemas"]["Problem"] | null;
        };
        /**
         * Items[Exposed]
         * @description What came of a batch, in the order of its requests.
         */
        Items_Exposed_: {
            items: components["schemas"]["Item_Exposed_"][];
        };
        /**
         * Item[Exposed]
         * @description What came of one request of a batch: an answer or a problem.
         */
        Item_Exposed_: {
            status: number;
            /** @default null */
            answer?: components["schemas"]["Exposed"] | null;
            /** @default null */
            problem?: components["schemas"]["Problem"] | null;
        };
        /**
         * Items[Reported]
         * @description What came of a batch, in the order of its requests.
         */
        Items_Reported_: {
            items: components["schemas"]["Item_Reported_"][];
        };
        /**
         * Item[Reported]
         * @description What came of one request of a batch: an answer or a problem.
         */
        Item_Reported_: {
            status: number;
            /** @default null */
            answer?: components["schemas"]["Reported"] | null;
            /** @default null */
            problem?: components["schemas"]["Problem"] | null;
        };
        /**
         * Start
         * @description The protocol that was looked at, by its hash: no other is started.
         */
        Start: {
            protocol: string;
        };
        /** @description All that is decided before the first person comes. */
        Protocol: {
            /** @description the study's name, unique in a database */
            name: string;
            /** @description what it is to find out, for people */
            about?: string;
            /** @description whose studies share each person's budget; left out: the study's own */
            project?: string;
            policy?: components["schemas"]["ProtocolPolicy"];
            /** @description how many get a place; needed unless the policy is a search */
            people?: number;
            /** @description the probability of a wrong answer, if the policy is a search: 0.05 */
            delta?: number;
            channel: components["schemas"]["ProtocolChannel"];
            /** @description public keys of the application, if it signs who comes */
            signed_by?: string | string[] | null;
            /** @description what people may get, each with a name of its own */
            arms: components["schemas"]["ProtocolArm"][];
            reward?: components["schemas"]["ProtocolReward"];
            operators?: components["schemas"]["ProtocolOperators"];
            sites?: components["schemas"]["ProtocolSites"];
            rounds?: components["schemas"]["ProtocolRounds"];
            guardrail?: components["schemas"]["ProtocolGuardrail"];
            enrolment?: components["schemas"]["ProtocolEnrolment"];
            budget: components["schemas"]["ProtocolBudget"];
            simulation?: components["schemas"]["ProtocolSimulation"];
            /** @description further outcomes that are published, and decide nothing */
            metrics?: components["schemas"]["ProtocolMetric"][];
        };
        /** @description What people may get. */
        ProtocolArm: {
            name: string;
            /** @description what the application is given with the arm: any JSON */
            payload?: unknown;
            /** @description the share of all places, whatever the policy does; only the control has one */
            share?: number | string;
        };
        /** @description How the reports of a person become one reward. */
        ProtocolReward: {
            /** @description the least that one report may say: 0 */
            least?: number;
            /** @description the most that one report may say: 1 */
            most?: number;
            /** @description the outcome of a person who never reports: least */
            default?: number;
            /**
             * @description which of several reports counts: "last", and "sum" with a cap
             * @enum {string}
             */
            rule?: "first" | "last" | "sum";
            /** @description a sum is cut at this many times `most`: 1 */
            cap?: number;
            /** @description how long after the arm was seen reports count: "1 day" */
            window?: string;
            /** @description how long a person has to see the arm, before the place goes to another: "10 minutes" */
            exposure?: string;
            /**
             * @description what evaluating a flag over OFREP does besides giving a place: "exposes"
             * @enum {string}
             */
            evaluating?: "enrols" | "exposes";
            /** @description how long after the window devices may report: "0 days" */
            grace?: string;
        };
        /** @description The operators of the two servers, only with the channel `two_servers`. */
        ProtocolOperators: {
            /** @description Who runs the study. */
            leader: {
                name: string;
                /** @description the fingerprint of its public keys */
                key: string;
            };
            /** @description Who adds its share of every sum. */
            helper: {
                name: string;
                /** @description the fingerprint of its public keys */
                key: string;
                address: string;
            };
        };
        /** @description The rounds in which devices add up by themselves, only with a channel whose backend is `secagg`. */
        ProtocolRounds: {
            /** @description how long each phase waits for devices that are not in contact: 10 minutes */
            wait?: string;
        };
        /** @description The sites that keep the outcomes of their own people, only with a channel whose backend is `sites`. */
        ProtocolSites: {
            /** @description how long each phase of a round waits for sites that may be lost: 1 hour */
            wait?: string;
            list: {
                name: string;
                /** @description the fingerprint of its public keys */
                key: string;
                /** @description the largest part of a cohort that its people may be: 1 */
                share?: number | string;
            }[];
        };
        /** @description A further outcome of each person, whose sums are published, and which decides nothing. */
        ProtocolMetric: {
            /** @description the `metric` of its reports */
            name: string;
            /** @description the share of the channel's epsilon; the reward has the rest */
            share: number | string;
            /** @description the least that one report may say: 0 */
            least?: number;
            /** @description the most that one report may say: 1 */
            most?: number;
            /** @description the outcome of a person who never reports: least */
            default?: number;
            /**
             * @description which of several reports counts: "last", and "sum" with a cap
             * @enum {string}
             */
            rule?: "first" | "last" | "sum";
            /** @description a sum is cut at this many times `most`: 1 */
            cap?: number;
        };
        /** @description A further outcome, by which an arm is found harmful and put out of play. */
        ProtocolGuardrail: {
            /** @description the `metric` of its reports */
            name: string;
            harm: {
                /** @description of an arm's mean, or of a difference */
                above: number;
                /** @description the arm from which it differs */
                against?: string | null;
            } | {
                /** @description of an arm's mean, or of a difference */
                below: number;
                /** @description the arm from which it differs */
                against?: string | null;
            };
            /** @description the least that one report may say: 0 */
            least?: number;
            /** @description the most that one report may say: 1 */
            most?: number;
            /** @description the outcome of a person who never reports: least */
            default?: number;
            /**
             * @description which of several reports counts: "last", and "sum" with a cap
             * @enum {string}
             */
            rule?: "first" | "last" | "sum";
            /** @description the share of the epsilon of the channel; the reward has the rest: "1/2" */
            share?: number | string;
            /** @description the probability that the rule ever finds an arm harmful that is not: 0.05 */
            alpha?: number;
        };
        /** @description Who may be enrolled, if not everybody; all others get the default arm, free of charge. */
        ProtocolEnrolment: {
            /** @description the arm of whoever is not enrolled: the first */
            default?: string;
            /** @description The shares of people who may be enrolled, from step to step, and everybody after the last. */
            ramp?: {
                /** @description each larger than the one before */
                shares: (number | string)[];
                /** @description how long a step takes, at least a minute */
                every: string;
            };
            /** @description The part of a group of studies that this one has; those that run together have no part in common. */
            group?: {
                name: string;
                /** @description where its part begins: 0 */
                least?: number | string;
                /** @description where its part ends: 1 */
                below?: number | string;
            };
            /** @description A rule for each attribute; all must hold of what an assignment says of the person. */
            eligible?: {
                [key: string]: string | string[] | boolean | {
                    least?: number;
                    most?: number;
                };
            };
        } | unknown | unknown | unknown;
        /** @description What each person may lose in all studies of the project together: epsilon and perhaps delta, or rho. */
        ProtocolBudget: {
            /** @description of (ε, δ)-privacy */
            epsilon?: number | string;
            /** @description 0 */
            delta?: number | string;
            /** @description of zero-concentrated privacy, in place of both */
            rho?: number | string;
            /** @description a person has a new budget after that; left out: never */
            period?: string | null;
        };
        /** @description Who comes in `maskedbandit study simulate`. Real studies do not read it. */
        ProtocolSimulation: {
            /** @description rewards: { "name": "bernoulli", "means": [0.4, 0.5] } */
            instance?: unknown;
            /** @description the same for the guardrail */
            guardrail?: unknown;
            /** @description the same for each metric, by its name: { "spent": { "name": "beta", ... } } */
            metrics?: unknown;
            /** @description how far apart people come: "1 second" */
            every?: unknown;
            /** @description the share of people who never report: 0 */
            lost?: unknown;
            /** @description of arms: [{ "at": 500, "pause": "b" }] */
            changes?: unknown;
            /** @description the seed from which rewards are drawn: 1 */
            seed?: unknown;
        };
        /** @description Who decides which arm the next people get: contemporaneous_klucb if it is left out. */
        ProtocolPolicy: ("ada_cucb" | "ada_p_klucb" | "ada_p_tt" | "ada_p_tt_star" | "ada_p_ucb" | "anytime_lazy_ucb" | "arms_above" | "best_arm_dpse" | "best_arm_elimination" | "capped_thompson" | "contemporaneous_elimination" | "contemporaneous_klucb" | "dp_imed" | "dp_klucb" | "dp_thompson" | "dp_tt" | "dpse" | "dpucb" | "dpucb_int" | "eb_tci" | "epsilon_greedy" | "equal_split" | "gaussian_thompson" | "kl_lucb" | "klucb" | "lazy_dp_thompson" | "ldp_ucb" | "noise_aware_klucb" | "pooled_elimination" | "released_likelihood" | "restarting_klucb" | "sequential_halving" | "successive_elimination" | "sw_ucb" | "thompson_sampling" | "top_arms" | "track_and_stop" | "ttucb" | "ucb1" | "uniform" | "uniform_arms_above" | "uniform_glr" | "uniform_top_arms") | {
            /** @enum {string} */
            name: "ada_cucb" | "ada_p_klucb" | "ada_p_ucb" | "anytime_lazy_ucb" | "capped_thompson" | "contemporaneous_klucb" | "dp_imed" | "dp_klucb" | "dp_thompson" | "dpse" | "dpucb" | "dpucb_int" | "epsilon_greedy" | "gaussian_thompson" | "klucb" | "lazy_dp_thompson" | "ldp_ucb" | "noise_aware_klucb" | "restarting_klucb" | "successive_elimination" | "sw_ucb" | "thompson_sampling" | "ucb1" | "uniform";
            /** @description of capped_thompson */
            alpha?: number;
            /** @description of noise_aware_klucb */
            anytime?: boolean;
            /** @description of successive_elimination */
            base?: number;
            /** @description of sw_ucb */
            batch?: number;
            /** @description of ada_cucb, ada_p_klucb, ada_p_ucb, anytime_lazy_ucb, dp_klucb, lazy_dp_thompson */
            beta?: number;
            /** @description of dpucb_int, epsilon_greedy */
            decay?: number | (number | null);
            /** @description of dpucb_int, gaussian_thompson */
            epsilon?: (number | string) | (number | string | null);
            /** @description of epsilon_greedy */
            explore?: number;
            /** @description of dpse, dpucb, successive_elimination */
            failure?: number | null;
            /** @description of gaussian_thompson */
            inflation?: number | string;
            /** @description of gaussian_thompson */
            initial?: number;
            /** @description of dpucb, dpucb_int */
            interval?: ("chapelle-li" | "corrected" | "paper") | ("corrected" | "paper");
            /** @description of contemporaneous_klucb, noise_aware_klucb, restarting_klucb, successive_elimination */
            least?: number;
            /** @description of dp_thompson */
            pilot?: ("corrected" | "paper") | number;
            /**
             * @description of successive_elimination
             * @enum {string}
             */
            radius?: "corrected" | "paper";
            /** @description of contemporaneous_klucb, dp_imed, dp_klucb, noise_aware_klucb */
            ratio?: number;
            /**
             * @description of dpse, successive_elimination
             * @enum {string}
             */
            unfinished?: "skip" | "start";
            /** @description of restarting_klucb, sw_ucb */
            window?: number | null;
            /** @description of sw_ucb */
            xi?: number;
        } | {
            /** @enum {string} */
            name: "ada_p_tt" | "ada_p_tt_star" | "best_arm_dpse" | "best_arm_elimination" | "contemporaneous_elimination" | "dp_tt" | "eb_tci" | "released_likelihood" | "track_and_stop" | "ttucb" | "uniform_glr";
            /** @description of ada_p_tt, ada_p_tt_star, dp_tt, eb_tci, ttucb */
            beta?: number;
            /**
             * @description of best_arm_dpse
             * @enum {string}
             */
            counts?: "epoch" | "published";
            /** @description of dp_tt */
            eta?: number;
            /** @description of ada_p_tt, ada_p_tt_star, dp_tt, released_likelihood */
            forced?: number;
            /** @description of released_likelihood */
            growth?: number;
            /** @description of contemporaneous_elimination, released_likelihood */
            least?: number;
            /** @description of contemporaneous_elimination */
            ratio?: number;
            /** @description of ada_p_tt, best_arm_elimination, dp_tt, eb_tci, track_and_stop, ttucb, uniform_glr */
            threshold?: ("heuristic" | "proved") | ("proved" | "published") | ("closed" | "heuristic" | "proved") | ("heuristic" | "proved" | "published");
            /**
             * @description of track_and_stop
             * @enum {string}
             */
            tracking?: "cumulative" | "direct";
        } | {
            /** @enum {string} */
            name: "equal_split" | "pooled_elimination" | "sequential_halving";
            /** @description of pooled_elimination */
            late?: number;
        } | {
            /** @enum {string} */
            name: "arms_above" | "kl_lucb" | "top_arms" | "uniform_arms_above" | "uniform_top_arms";
            /** @description of top_arms */
            forced?: number;
            /** @description of arms_above, top_arms */
            growth?: number;
            /** @description of arms_above, top_arms, uniform_arms_above, uniform_top_arms */
            least?: number;
            /** @description of kl_lucb, top_arms, uniform_top_arms */
            m?: number;
            /** @description of uniform_arms_above, uniform_top_arms */
            ratio?: number;
            /** @description of arms_above, uniform_arms_above */
            theta?: number;
            /** @description of arms_above, uniform_arms_above */
            tolerance?: number;
        };
        /** @description Who adds the noise, and how much. */
        ProtocolChannel: ("central" | "local" | "response" | "tree") | {
            /** @constant */
            name: "central";
            /**
             * @description of each person
             * @default 1
             */
            epsilon?: number | string;
            /**
             * @description left out: discrete_laplace
             * @enum {string}
             */
            noise?: "discrete_gaussian" | "discrete_laplace" | "skellam";
            /** @description steps in one unit of reward: 1 */
            grid?: number | "paper" | {
                fixed?: number;
                /** @description more of them in large cohorts: 0 */
                fineness?: number | string;
            };
        } | {
            /** @constant */
            name: "local";
            /**
             * @description of each person
             * @default 1
             */
            epsilon?: number | string;
            /**
             * @description left out: discrete_laplace
             * @enum {string}
             */
            noise?: "discrete_gaussian" | "discrete_laplace" | "skellam";
            /** @description steps in one unit of reward: 1 */
            grid?: number | "paper" | {
                fixed?: number;
                /** @description more of them in large cohorts: 0 */
                fineness?: number | string;
            };
        } | {
            /** @constant */
            name: "response";
            /**
             * @description of each person
             * @default 1
             */
            epsilon?: number | string;
        } | {
            /** @constant */
            name: "distributed";
            /**
             * @description of each person
             * @default 1
             */
            epsilon?: number | string;
            /**
             * @description left out: discrete_laplace
             * @enum {string}
             */
            noise?: "discrete_gaussian" | "discrete_laplace" | "skellam";
            /** @description steps in one unit of reward: 1 */
            grid?: number | "paper" | {
                fixed?: number;
                /** @description more of them in large cohorts: 0 */
                fineness?: number | string;
            };
            /** @default 1 */
            honest?: number | string;
            /** @description who adds up, and how */
            backend: ("secagg" | "sites") | {
                /** @constant */
                name: "sites";
                /** @description sites that may tell the coordinator all that they know: 0 */
                colluding?: number;
                /** @description sites that may be missing in a sum: 0 */
                lost?: number;
                /** @description how often a round is tried, at its price: 1 */
                attempts?: number;
            } | {
                /** @constant */
                name: "secagg";
                /** @description the part of the devices that may tell all that they know: 0 */
                corrupted?: number | string;
                /** @constant */
                server?: "honest";
                /**
                 * @description who helps whom: auto
                 * @enum {string}
                 */
                graph?: "auto" | "complete" | "sparse";
                /** @description the fewest honest people counted on: 32 */
                smallest?: number;
                /** @description how often a round is tried, at its price: 1 */
                attempts?: number;
            };
            /** @default power of two */
            modulus?: ("power of two" | "tight") | number;
            /**
             * @default chernoff
             * @enum {string}
             */
            tail?: "chernoff" | "paper";
            /** @default 1e-12 */
            failure?: number;
        } | {
            /** @constant */
            name: "tree";
            /**
             * @description of each person
             * @default 1
             */
            epsilon?: number | string;
            /**
             * @description left out: discrete_laplace
             * @enum {string}
             */
            noise?: "discrete_gaussian" | "discrete_laplace" | "skellam";
            /** @description steps in one unit of reward: 1 */
            grid?: number | "paper" | {
                fixed?: number;
                /** @description more of them in large cohorts: 0 */
                fineness?: number | string;
            };
            /**
             * @default kary
             * @enum {string}
             */
            counter?: "binary" | "endless" | "honaker" | "hybrid" | "kary" | "root";
            /** @default 1048576 */
            length?: number;
            /** @default null */
            arity?: number | null;
            /** @default null */
            bands?: number | null;
            /** @default 1 */
            divide?: number;
        } | {
            /** @constant */
            name: "two_servers";
            /**
             * @description of each person
             * @default 1
             */
            epsilon?: number | string;
            /**
             * @description left out: discrete_laplace
             * @enum {string}
             */
            noise?: "discrete_gaussian" | "discrete_laplace" | "skellam";
            /** @description steps in one unit of reward: 1 */
            grid?: number | "paper" | {
                fixed?: number;
                /** @description more of them in large cohorts: 0 */
                fineness?: number | string;
            };
            /** @default 1e-12 */
            failure?: number;
            /**
             * @description what devices prove, and how
             * @constant
             */
            backend: "prio3";
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    post_v1_studies_study_assign: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Assign"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Assigned"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_v1_studies_study_expose: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Expose"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Exposed"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too late */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_v1_studies_study_report: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Report"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Reported"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too late */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_v1_studies_study_assign_batch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AssignBatch"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Items_Assigned_"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_v1_studies_study_expose_batch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ExposeBatch"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Items_Exposed_"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_v1_studies_study_report_batch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReportBatch"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Items_Reported_"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_v1_studies_study_budget: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Expose"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Budget"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_v1_studies_study_arms: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewArm"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StudyState"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_v1_studies_study_arms_arm_pause: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                study: string;
                arm: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StudyState"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_v1_studies_study_arms_arm_resume: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                study: string;
                arm: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StudyState"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_v1_studies_study_round: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AnswerRound"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RoundDueNow"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_v1_keys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeysListed"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_v1_keys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewKey"];
            };
        };
        responses: {
            /** @description Done */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyMade"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_v1_keys_key_rotate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyMade"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_v1_keys_key_revoke: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyListed"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_v1_studies_study_releases: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Releases"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_v1_studies_study_releases_csv: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": string;
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_v1_studies_study_ledger: {
        parameters: {
            query?: {
                after?: number;
            };
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ledger"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_v1_studies_study_ledger_head: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LedgerHead"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_v1_studies_study_verify: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Verified"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_v1_studies_study_events: {
        parameters: {
            query?: {
                after?: number;
            };
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_ofrep_v1_evaluate_flags_key: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Evaluate"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Evaluation"];
                };
            };
            /** @description Bad request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Fault"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Fault"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_ofrep_v1_evaluate_flags: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Evaluate"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Evaluations"];
                };
            };
            /** @description Bad request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Fault"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_healthz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_readyz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_openapi_json: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_v1_studies_study_person: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AskPerson"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PersonShown"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_v1_studies_study_person_leave: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AskPerson"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StudyLeft"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_v1_studies_study_results: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Results"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_v1_studies_study_statement: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Statement"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_v1_sites_pair: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Pair"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Paired"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    put_v1_studies_study_sites: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeSites"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StudyState"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_v1_studies_study_site: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StudyOfSite"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_v1_studies_study_site_assign: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AssignAtSite"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlaceOfSite"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_v1_studies_study_site_expose: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ExposeAtSite"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Exposed"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too late */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_v1_studies_study_site_erase: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EraseAtSite"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Erased"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_v1_studies_study_site_rounds: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AnswerRounds"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RoundsDue"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_v1_studies: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Studies"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_v1_studies: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Protocol"];
                "application/toml": string;
            };
        };
        responses: {
            /** @description Done */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StudyState"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_v1_studies_validate: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Protocol"];
                "application/toml": string;
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Validated"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_v1_studies_study: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StudyState"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    put_v1_studies_study: {
        parameters: {
            query?: never;
            header: {
                /** @description the hash of the protocol that was looked at, as the study has it */
                "If-Match": string;
            };
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Protocol"];
                "application/toml": string;
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StudyState"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    delete_v1_studies_study: {
        parameters: {
            query?: never;
            header: {
                /** @description the hash of the protocol that was looked at, as the study has it */
                "If-Match": string;
            };
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_v1_studies_study_protocol: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_v1_studies_study_approve: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Approve"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StudyState"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_v1_studies_study_start: {
        parameters: {
            query?: {
                simulated?: number;
            };
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Start"] | null;
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StudyState"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_v1_studies_study_stop: {
        parameters: {
            query?: {
                without_helper?: number;
            };
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StudyState"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_v1_studies_study_erase: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Erase"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Erased"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_v1_studies_study_pause: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StudyState"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_v1_studies_study_resume: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StudyState"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_v1_studies_study_archive: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StudyState"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_v1_studies_study_upload: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UploadReport"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReportUploaded"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too late */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_v1_studies_study_pass: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AskPass"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PassGiven"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too late */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_v1_studies_study_leave: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                study: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LeaveStudy"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StudyLeft"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_v1_webhooks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhooksListed"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    post_v1_webhooks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewWebhook"];
            };
        };
        responses: {
            /** @description Done */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookMade"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A value is not allowed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    delete_v1_webhooks_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                webhook: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDeleted"];
                };
            };
            /** @description A key or a token is needed */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too large */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The server cannot do it now */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
}
