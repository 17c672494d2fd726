import type { KeptRound } from "../core/adding_up.js";
import type { HandedOperator } from "../core/operators.js";
import type { OwnPlace } from "../core/place.js";
import type { BookedPlace, MadeReport } from "./book.js";

/** What the person may see of a report. */
export type ShownReport = Omit<MadeReport, "study" | "body">;

/** What the person may see of a study. */
export interface StudyOnDevice {
  study: string;
  arm: string;
  epsilon: string; // a fraction: what it costs, once its cohort is released
  steps: number; // a report says how many of so many an outcome is, under local trust with noise; 0 after she left
  operators: Pick<HandedOperator, "name" | "address">[]; // of two operators, the leader first; none after she left
  joined: number; // milliseconds
  exposed: number | null; // when the person saw the arm
  ended: string; // why nothing more is sent: left, elsewhere, or the service's refusal; else empty
  sent: ShownReport[];
}

/** A study of the book for the person; `place` is null after she left. */
export function showStudy(booked: BookedPlace, place: OwnPlace | null, reports: MadeReport[]): StudyOnDevice {
  const { study, epsilon, joined, exposed, ended } = booked;
  return {
    study,
    arm: place?.arm ?? "",
    epsilon,
    steps: place ? Number(place.offer.steps) : 0,
    operators: (place?.operators ?? []).map(({ name, address }) => ({ name, address })),
    joined,
    exposed,
    ended,
    sent: [...reports.map(({ study: _, body: __, ...rest }) => rest), ...(booked.rounds ?? []).flatMap(showMasked)],
  };
}

/** The number that was sent in an attempt, if one was: whoever sees it alone, sees a uniform one. */
const showMasked = ({ terms, masked }: KeptRound): ShownReport[] =>
  masked ? [{ turn: terms.attempt, metric: "", ...masked, answer: "masked" }] : [];
