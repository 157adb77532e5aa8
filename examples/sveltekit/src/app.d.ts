/** Types of the app: `locals` has the client of the request. */
import type { Socle } from "@socle/client";
import type { Project } from "./lib/project";

declare global {
  namespace App {
    interface Locals {
      socle: Socle<Project>;
    }
  }
}
