// Makes one style sheet of several: `node sheet.mjs FOLDER NAME SHEET...`, where all but FOLDER are paths inside of it.
import { join, relative } from "node:path";
import * as esbuild from "esbuild";

const [folder, name, ...sheets] = process.argv.slice(2);

// Fonts and pictures stay where they are; their addresses are told from the new sheet's place.
const assets = {
  name: "assets",
  setup: ({ onResolve }) =>
    onResolve({ filter: /^[^#]/ }, ({ kind, path, resolveDir }) => {
      if (kind !== "url-token" || path.startsWith("data:")) return;
      return { path: relative(folder, join(resolveDir, path)), external: true };
    }),
};

await esbuild.build({
  stdin: { contents: sheets.map((sheet) => `@import "./${sheet}";`).join("\n"), loader: "css", resolveDir: folder },
  outfile: join(folder, name),
  bundle: true,
  minify: true,
  charset: "utf8",
  logLevel: "error",
  plugins: [assets],
});
