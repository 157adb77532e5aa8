/** Types of the app: what each request carries. */
import type { Socle } from "@socle/client";

declare global {
  namespace App {
    interface Locals {
      /** The client of the request, with the session of the browser. */
      socle: Socle;
    }
  }
}
