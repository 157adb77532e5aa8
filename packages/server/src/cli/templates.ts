/** The templates of `socle init`: folders of `examples/`, which the executable holds in a compressed file. */
import { SetupError } from "../base/kernel/index.ts";
import { templatesFile } from "./templates-build.ts";

/** The names of the templates, and the folder of each in `examples/`. The first template is the default. */
export const templateFolders = {
  blank: "blank",
  "vite-react": "vite-react",
  next: "nextjs",
  astro: "astro",
  sveltekit: "sveltekit",
  "react-router": "react-router",
  chat: "chat",
  tracker: "tracker",
  shop: "shop",
} as const;

export const templateNames = Object.keys(templateFolders);

/** The files of a project: path → content. */
export type Template = { readonly [path: string]: string };

/** @throws SetupError for an unknown name, with all names; and for a program that runs from source. */
export async function readTemplate(name: string): Promise<Template> {
  if (!templateNames.includes(name))
    throw new SetupError(`there is no template "${name}"; the templates: ${templateNames.join(", ")}`);
  if (templatesFile === null)
    throw new SetupError("The executable has the templates: npm run build makes the executable");
  // `scripts/embed-templates.ts` wrote the file.
  const text = new TextDecoder().decode(Bun.zstdDecompressSync(await Bun.file(templatesFile).bytes()));
  const templates = JSON.parse(text) as { readonly [name: string]: Template };
  return templates[name] ?? {};
}
