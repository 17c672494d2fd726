/** The numbers of Prio3 are those modulo this prime. */
export const FIELD = 2n ** 64n - 2n ** 32n + 1n;
