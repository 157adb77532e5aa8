/** The version that services and clients tell each other. */

/** The version of Socle without the last number: a service and a client of one series understand each other. */
export const SERIES = "0.2";
/** The header of answers with the series of the service. */
export const VERSION_HEADER = "Socle-Version";
