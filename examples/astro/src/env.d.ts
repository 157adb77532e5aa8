/** Types of the app: `locals` has the client of the request. */
declare namespace App {
  interface Locals {
    socle: import("@socle/client").Socle<import("./lib/project").Project>;
  }
}
