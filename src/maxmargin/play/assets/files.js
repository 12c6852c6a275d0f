// Saving what is on the page to a file, and loading it again.

import { ask } from "./ask.js";
import { restore, saved } from "./store.js";

const byId = (id) => document.getElementById(id);

export function setUpFiles(menu, tell, fail) {
  byId("save").addEventListener("click", () => {
    const text = JSON.stringify(saved(menu.format, menu.version), null, 1);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = "playground.json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    tell("Saved as playground.json.");
  });
  byId("load").addEventListener("click", () => byId("file").click());
  byId("file").addEventListener("change", async () => {
    const [file] = byId("file").files;
    byId("file").value = "";
    if (!file) return;
    try {
      const { state, refused } = await ask("check", parse(await file.text(), file.name));
      if (refused) throw new Error(`${file.name}: ${refused}.`);
      restore(state);
      tell(`Loaded ${file.name}.`);
    } catch (error) {
      fail(error);
    }
  });
}

function parse(text, name) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${name} is not a saved playground: it is not JSON.`);
  }
}
