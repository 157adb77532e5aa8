/** The pages of the site: the Markdown files that scripts/site.ts writes. */

import { defineCollection } from "astro:content";
import { docsSchema } from "@astrojs/starlight/schema";
import { glob } from "astro/loaders";

export const collections = {
  docs: defineCollection({ loader: glob({ base: "./made/docs", pattern: "*.md" }), schema: docsSchema() }),
};
