/** Body of the health check. */

export interface Health {
  status: "ok";
  version: string;
}
