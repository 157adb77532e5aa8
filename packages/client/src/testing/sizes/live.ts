/** An app with live queries, for the measurement of the size. */
import { live } from "../../entries/live.ts";
import { createClient } from "../../index.ts";

export const socle = createClient({ live });
