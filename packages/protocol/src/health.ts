export interface Health {
  status: "ok";
  version: string;
}
