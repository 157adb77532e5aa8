/** Client of the page, which gets access tokens from `/session`; and the queries that server and page share. */
import { createClient, pageSession, type Socle } from "@socle/client";
import { live } from "@socle/client/live";
import type { Project } from "./project";

let made: { readonly userId: string; readonly client: Socle<Project> } | undefined;

/** The client of the signed-in user. On the server, the client only names queries: a server shares no session. */
export function pageClient(baseUrl: string, userId: string): Socle<Project> {
  if (typeof document === "undefined") return createClient<Project>({ baseUrl });
  // A client that was signed out stays so: the user has signed in again.
  if (made?.userId !== userId || made.client.session.get() === null) {
    made?.client.close();
    made = { userId, client: createClient<Project>({ baseUrl, live, session: pageSession("/session") }) };
  }
  return made.client;
}

/** The tasks of the user, newest first. */
export function tasksOf(client: Socle<Project>) {
  return client.tasks.orderBy("-createdAt").limit(50);
}

/** The page of tasks that the server reads. */
export type Tasks = Awaited<ReturnType<typeof tasksOf>>;
