/** The entry of a thread with a database connection that runs statements and no tasks. */
import { serveThread } from "./thread-server.ts";

serveThread(() => {
  throw new Error("This thread has no tasks");
});
