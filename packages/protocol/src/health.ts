/** Body of the health check. */

export interface Health {
  status: "ok";
  version: string;
  /** In the answer of a ready service: what does not work at the moment, as lines; absent when everything works. */
  notes?: readonly string[];
}
