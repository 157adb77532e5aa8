/** The OpenAPI document of the service, as the signed-in admin gets the document. */
import { queryOptions } from "@tanstack/react-query";
import { client } from "../../service/client.ts";
import type { ApiDocument } from "./operations.ts";

export const documentQuery = queryOptions({
  queryKey: ["openapi"],
  queryFn: () => client.admin.openApi() as Promise<ApiDocument>,
});
