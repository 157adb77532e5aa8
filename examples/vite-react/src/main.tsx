/** Puts the app into the page. */
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app";

const place = document.querySelector("main");
if (place !== null)
  createRoot(place).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
