/**
 * The floor of queries: a bare handler with a prepared statement, on the same database. Arguments: the path, and the SQL
 * with the last part of the address as parameter.
 */
import { Database } from "bun:sqlite";

const [path = "", sql = ""] = Bun.argv.slice(2);
const reader = new Database(path, { readonly: true });
const list = reader.prepare<object, [string]>(sql);
const headers = { "Content-Type": "application/json" };

const server = Bun.serve({
  port: 0,
  routes: {
    "/health": () => new Response("{}", { headers }),
    "/list/:value": (request) =>
      new Response(JSON.stringify({ items: list.all(request.params.value), nextCursor: null }), { headers }),
  },
});
console.log(`Listening on http://localhost:${server.port}`);
