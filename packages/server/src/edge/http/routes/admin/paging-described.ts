/** Description of a method that answers a page of a list. */

import type { DescribedRoutes, Parameter } from "../../../openapi/index.ts";
import { count, json, pageOf, parameter, ref } from "../../../openapi/index.ts";

type Described = NonNullable<DescribedRoutes["routes"][string]["GET"]>;

/** @param schema the name of the schema of an item. @param query parameters beside `limit` and `offset`, by name, with a meaning, or as described. */
export function paging(
  summary: string,
  schema: string,
  query: { readonly [name: string]: string | Parameter } = {},
): Described {
  const own = Object.entries(query).map(([name, given]) => [
    name,
    typeof given === "string" ? parameter(given) : given,
  ]);
  return {
    summary,
    access: "admin",
    query: {
      ...Object.fromEntries(own),
      limit: parameter("Items of the page, 1,000 at most.", count),
      offset: parameter("Items before the page.", count),
    },
    answers: { 200: json(pageOf(ref(schema))) },
  };
}
