/** An app with the client alone, for the measurement of the size. */
import { createClient } from "../../index.ts";

export const socle = createClient();
