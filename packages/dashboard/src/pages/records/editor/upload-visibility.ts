/** The visibility of an upload in the form of a collection: a file is public when everybody may read the records. */
import type { CollectionEntry, Visibility } from "@socle/protocol";
import { createContext } from "react";
import { text } from "../../../texts/index.ts";

interface UploadVisibility {
  readonly visibility: Visibility;
  /** The reason, in a sentence. */
  readonly reason: string;
}

export function uploadVisibilityOf({ name, permissions }: CollectionEntry): UploadVisibility {
  // Without a rule, everybody may read.
  return (permissions?.read ?? "public") === "public"
    ? { visibility: "public", reason: text.editor.uploadPublic(name) }
    : { visibility: "protected", reason: text.editor.uploadProtected(name) };
}

/** The visibility for the uploads of a form. */
export const UploadVisibilityContext = createContext<UploadVisibility>({ visibility: "protected", reason: "" });
