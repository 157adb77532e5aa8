/** What the settings' page reads. */
import { queryOptions } from "@tanstack/react-query";
import { client } from "../../service/client.ts";

/** The configuration does not change while the service runs. */
export const configQuery = queryOptions({
  queryKey: ["config"],
  queryFn: () => client.admin.config(),
  staleTime: 60_000,
});
