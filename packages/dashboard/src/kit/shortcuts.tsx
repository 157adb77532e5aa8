/**
 * Keyboard shortcuts. A component registers its shortcuts while on the page; the list of shortcuts (`?`) shows the shortcuts that
 * work at the moment. Keys are written as `mod+k`, `?`, `Delete`, or as a sequence: `g c`.
 */
import { Group, Kbd } from "@mantine/core";
import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef, useState } from "react";
import { layerOf } from "./layers.ts";

interface Shortcut {
  readonly keys: string;
  /** The deed, for the list: "Go to collections". */
  readonly label: string;
  readonly group: string;
  /** Whether the shortcut is only listed: the element with the focus handles the key by itself. */
  readonly isListed?: boolean;
}

interface Registered extends Shortcut {
  readonly run: () => void;
}

interface Registry {
  add(shortcut: Registered): () => void;
  list(): readonly Shortcut[];
}

const Context = createContext<Registry | null>(null);

/** How long the second key of a sequence may take. */
const sequenceMs = 1_000;

const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent);

/** The keys of a shortcut with the labels of a keyboard: ["⌘", "K"]. */
export function keyNames(keys: string): string[] {
  const names: { [part: string]: string } = {
    mod: isMac ? "⌘" : "Ctrl",
    shift: "⇧",
    Escape: "Esc",
    ArrowUp: "↑",
    ArrowDown: "↓",
    ArrowLeft: "←",
    ArrowRight: "→",
    Space: "␣",
  };
  return keys.split(/[+ ]/).map((part) => names[part] ?? (part.length === 1 ? part.toUpperCase() : part));
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    // A ticked box takes no text: a Delete after the tick is meant for the rows.
    !(target instanceof HTMLInputElement && target.type === "checkbox") &&
    (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName))
  );
}

/** Whether an element has an undo for edits of the element, with the same key as the page. */
function hasOwnUndo(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !target.readOnly && !["checkbox", "radio"].includes(target.type);
  return target.isContentEditable || target instanceof HTMLTextAreaElement;
}

/** The event in the notation of shortcuts. */
function written(event: KeyboardEvent): string {
  const mod = event.metaKey || event.ctrlKey ? "mod+" : "";
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  return `${mod}${event.shiftKey && event.key.length > 1 ? "shift+" : ""}${key}`;
}

export function ShortcutProvider({ children }: { children: ReactNode }) {
  const registered = useRef(new Set<Registered>());
  const registry = useMemo<Registry>(
    () => ({
      add(shortcut) {
        registered.current.add(shortcut);
        return () => registered.current.delete(shortcut);
      },
      list: () => [...registered.current],
    }),
    [],
  );

  useEffect(() => {
    let first: { key: string; at: number } | null = null;
    let isCovered = false;
    let isInDrawer = false;
    // The look comes before all handlers of the key: the Escape that closes a dialog is not meant for the page below.
    const look = ({ target }: KeyboardEvent): void => {
      const layer = layerOf(target);
      isCovered = layer !== null;
      isInDrawer = layer?.closest("[data-drawer]") instanceof HTMLElement;
    };
    const listen = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.altKey) return;
      const key = written(event);
      if (isTyping(event.target) && !key.startsWith("mod+")) return;
      if (key === "mod+z") {
        if (hasOwnUndo(event.target)) return;
        // The browser would undo the last typing in any field of the page, for example empty the search.
        event.preventDefault();
        if (event.shiftKey) return;
      }
      // A dialog keeps the keys for itself.
      if (isCovered && key !== "mod+k" && !(key === "mod+z" && isInDrawer)) return;
      const sequence = first !== null && event.timeStamp - first.at < sequenceMs ? `${first.key} ${key}` : null;
      // The last registered shortcut wins: the shortcut belongs to the topmost layer.
      const all = [...registered.current].filter(({ isListed }) => isListed !== true).reverse();
      const match = all.find(({ keys }) => keys === sequence) ?? all.find(({ keys }) => keys === key);
      first =
        match === undefined && all.some(({ keys }) => keys.startsWith(`${key} `)) ? { key, at: event.timeStamp } : null;
      if (match === undefined) return;
      event.preventDefault();
      match.run();
    };
    window.addEventListener("keydown", look, { capture: true });
    window.addEventListener("keydown", listen);
    return () => {
      window.removeEventListener("keydown", look, { capture: true });
      window.removeEventListener("keydown", listen);
    };
  }, []);

  return <Context value={registry}>{children}</Context>;
}

function useRegistry(): Registry {
  const registry = useContext(Context);
  if (registry === null) throw new Error("A shortcut needs a ShortcutProvider around the component");
  return registry;
}

/** Registers a shortcut while the component is on the page and `isActive` is true. */
export function useShortcut(shortcut: Shortcut, run: () => void, isActive = true): void {
  const registry = useRegistry();
  const latest = useRef(run);
  latest.current = run;
  const { keys, label, group, isListed = false } = shortcut;
  useEffect(() => {
    if (!isActive) return undefined;
    return registry.add({ keys, label, group, isListed, run: () => latest.current() });
  }, [registry, keys, label, group, isListed, isActive]);
}

/** Lists keys that the element with the focus handles by itself: arrows in a grid, Enter in a cell. */
export function useListedShortcut(shortcut: Shortcut): void {
  useShortcut({ ...shortcut, isListed: true }, () => undefined);
}

/** The shortcuts that work now, each once; read again whenever `isOpen` becomes true. */
export function useShortcutList(isOpen: boolean): readonly Shortcut[] {
  const registry = useRegistry();
  const [list, setList] = useState<readonly Shortcut[]>([]);
  useEffect(() => {
    if (isOpen)
      setList(registry.list().filter(({ keys }, i, all) => all.findIndex((each) => each.keys === keys) === i));
  }, [registry, isOpen]);
  return list;
}

export function Keys({ keys, size = "xs" }: { keys: string; size?: "xs" | "sm" }) {
  return (
    <Group component="span" gap={size === "xs" ? 2 : 4} wrap="nowrap">
      {keyNames(keys).map((key) => (
        <Kbd key={key} size={size}>
          {key}
        </Kbd>
      ))}
    </Group>
  );
}
