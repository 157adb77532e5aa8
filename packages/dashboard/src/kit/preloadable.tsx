/**
 * A component that is loaded when it is first needed, or before. One that is there already is drawn at once: a lazy one of
 * React shows its fallback first, for some hundred milliseconds, in which keys would be lost.
 */
import { type ComponentType, lazy, useState } from "react";

export interface Preloadable<P extends object> {
  /** Needs a `Suspense` around it. */
  readonly Component: ComponentType<P>;
  readonly preload: () => Promise<void>;
}

export function preloadable<P extends object>(load: () => Promise<ComponentType<P>>): Preloadable<P> {
  let Loaded: ComponentType<P> | null = null;
  const fetch = async (): Promise<{ default: ComponentType<P> }> => {
    const component = await load();
    Loaded = component;
    return { default: component };
  };
  // A component that is chosen once and stays: another one in its place would lose its state.
  const Lazy: ComponentType<P> = lazy(fetch);
  const Component = (props: P) => {
    const [Chosen] = useState<ComponentType<P>>(() => Loaded ?? Lazy);
    return <Chosen {...props} />;
  };
  return { Component, preload: async () => void (await fetch()) };
}
