/** The client of the service, with the types of the collections. A sign-in stays: after a reload, and for all tabs. */
import { createClient } from "@socle/client";
import { live } from "@socle/client/live";
import type { Project } from "./project";

export const socle = createClient<Project>({ live });
