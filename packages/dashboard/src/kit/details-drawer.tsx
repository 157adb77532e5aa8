/** The drawer at the right, with the details of the item that a parameter of the address names. */
import { Drawer, Group, Text } from "@mantine/core";
import { type ReactNode, useEffect, useRef } from "react";
import { text } from "../texts/index.ts";
import { CopyAction } from "./code-block.tsx";
import classes from "./details-drawer.module.css";
import { layerOf } from "./layers.ts";

interface DetailsDrawerProps {
  isOpen: boolean;
  onClose: () => void;
  title: ReactNode;
  size?: number | string;
  children: ReactNode;
}

export function DetailsDrawer({ isOpen, onClose, title, size = 520, children }: DetailsDrawerProps) {
  // While the drawer closes, the last content stays visible.
  const last = useRef({ title, children });
  if (isOpen) last.current = { title, children };
  useEscape(isOpen, onClose);
  return (
    <Drawer
      opened={isOpen}
      onClose={onClose}
      position="right"
      size={size}
      closeOnEscape={false}
      // The title gets the focus first, instead of the button that closes the drawer.
      title={
        <span tabIndex={-1} data-autofocus>
          {last.current.title}
        </span>
      }
      attributes={{ content: drawerMark, header: { role: "presentation" } }}
      overlayProps={{ backgroundOpacity: 0.18 }}
      transitionProps={{ duration: 140 }}
      closeButtonProps={{ "aria-label": text.common.close }}
      classNames={{
        content: classes["content"] ?? "",
        header: classes["header"] ?? "",
        title: classes["title"] ?? "",
        body: classes["body"] ?? "",
      }}
    >
      {last.current.children}
    </Drawer>
  );
}

/** A part of a drawer under a heading. */
export function DetailsSection(props: { title: string; actions?: ReactNode; children: ReactNode }) {
  const { title, actions, children } = props;
  return (
    <section className={classes["section"]}>
      <Group justify="space-between" mb={8} mih={26} wrap="nowrap">
        <Text component="h3" m={0} size="sm" fw={600}>
          {title}
        </Text>
        {actions}
      </Group>
      {children}
    </section>
  );
}

/** Names and values, as a list of `Fact`. */
export function Facts({ children }: { children: ReactNode }) {
  return <dl className={classes["facts"]}>{children}</dl>;
}

interface FactProps {
  name: string;
  /** Null leaves the fact out. */
  value: ReactNode;
  isMono?: boolean;
  /** The name of a button that copies the value. */
  copy?: string;
}

export function Fact({ name, value, isMono = false, copy }: FactProps) {
  if (value === null) return null;
  const shown = isMono ? <span className="mono">{value}</span> : value;
  return (
    <div className={classes["fact"]}>
      <dt>{name}</dt>
      <dd>
        {copy === undefined ? (
          shown
        ) : (
          <Group gap={4} wrap="nowrap">
            {isMono ? shown : <span>{shown}</span>}
            <CopyAction value={String(value)} label={copy} />
          </Group>
        )}
      </dd>
    </div>
  );
}

/** Marks the content of a drawer, for `layerOf`. */
export const drawerMark = { "data-drawer": true };

/** Calls back for an Escape that is meant for the open drawer: a dialog on top, or an open list inside, handles its own Escape. */
export function useEscape(isOpen: boolean, onEscape: () => void): void {
  const latest = useRef(onEscape);
  latest.current = onEscape;
  useEffect(() => {
    if (!isOpen) return undefined;
    const listen = (event: KeyboardEvent): void => {
      const { key, isComposing, target } = event;
      if (key !== "Escape" || isComposing || !(target instanceof Element)) return;
      const layer = layerOf(target);
      // A cell of the grid beside the drawer has no Escape of its own; the control of an edit in the cell has.
      const isBeside = layer === null && target.role === "gridcell";
      const isInside = target === document.body || isBeside || layer?.contains(target) === true;
      if (layer?.closest("[data-drawer]") === null || !isInside) return;
      if (target.getAttribute("data-mantine-stop-propagation") === "true") return;
      // The same key is not for the page, too.
      event.preventDefault();
      latest.current();
    };
    // The capture phase comes first, before the same key closes the dialog on top.
    window.addEventListener("keydown", listen, { capture: true });
    return () => window.removeEventListener("keydown", listen, { capture: true });
  }, [isOpen]);
}
