/** Body of the health check. */

export interface Health {
  status: "ok";
  version: string;
  /** In the answer of a ready service: faults that leave the service ready, as lines; absent without such a fault. */
  notes?: readonly string[];
}
