/** Rendered Markdown, loaded at its first display. */
export { Markdown } from "./markdown.tsx";
