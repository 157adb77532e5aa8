/** Texts of Markdown: the two views of a field, and the rendered text. */

export const markdown = {
  mode: (field: string) => `Write or preview ${field}`,
  modes: { write: "Write", preview: "Preview" },
  preview: (field: string) => `Preview of ${field}`,
  empty: "Nothing is written.",
  cut: (characters: string) => `The preview ends after ${characters} characters.`,
  tooDeep: "This text has too many blocks inside of each other for a preview.",
  picture: (alt: string) => (alt === "" ? "Picture" : `Picture: ${alt}`),
};
