/** The place of the command palette, which is loaded when opened. No typed key is lost meanwhile, and no page takes a key as a shortcut. */
import { TextInput } from "@mantine/core";
import { lazy, Suspense, useState } from "react";
import { text } from "../texts/index.ts";
import classes from "./palette-host.module.css";

const Palette = lazy(async () => ({ default: (await import("./palette.tsx")).Palette }));

export function PaletteHost({ onClose }: { onClose: () => void }) {
  const [query, setQuery] = useState("");
  const [isReady, setReady] = useState(false);
  const [isEntered, setEntered] = useState(false);
  return (
    <>
      {!isReady && (
        <TextInput
          className={classes["waiting"] ?? ""}
          // The field stands outside of the page's landmarks until the dialog of the palette is open.
          wrapperProps={{ role: "search" }}
          autoFocus
          size="lg"
          value={query}
          placeholder={text.palette.placeholder}
          aria-label={text.palette.placeholder}
          onChange={({ currentTarget }) => setQuery(currentTarget.value)}
          onKeyDown={({ key }) => {
            if (key === "Escape") onClose();
            if (key === "Enter") setEntered(true);
          }}
        />
      )}
      <Suspense>
        <Palette
          query={query}
          onQuery={setQuery}
          isEntered={isEntered}
          onFocus={() => setReady(true)}
          onClose={onClose}
        />
      </Suspense>
    </>
  );
}
