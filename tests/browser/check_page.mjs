// Open a report in real headless chromium and print what a person would run into, as one JSON object.
//
//   node check_page.mjs PAGE.html [--shots FOLDER] [--chromium PATH]
//
// Needs puppeteer-core and axe-core in $MEMAUDIT_NODE_MODULES (default: build/browser/node_modules of the
// current folder). Per width and scheme: axe violations with every <details> open, requests beyond the page
// itself, scripts, width of the document, and whether a link into a closed fold opens it. No network is used.
import { createRequire } from "node:module";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";

const args = process.argv.slice(2);
const option = (name, otherwise) => {
  const at = args.indexOf(name);
  return at < 0 ? otherwise : args.splice(at, 2)[1];
};
const shots = option("--shots", "");
const executablePath = option("--chromium", process.env.MEMAUDIT_CHROMIUM ?? "/usr/bin/chromium");
const page_path = path.resolve(args[0]);
const modules = path.resolve(process.env.MEMAUDIT_NODE_MODULES ?? "build/browser/node_modules");
const require = createRequire(path.join(modules, "anchor.js"));
const puppeteer = (await import(pathToFileURL(require.resolve("puppeteer-core")))).default;
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const profile = mkdtempSync(path.join(tmpdir(), "memaudit-page-"));
const browser = await puppeteer.launch({
  executablePath,
  headless: true,
  userDataDir: profile,
  protocolTimeout: 120000,
  args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
  ],
});
const answer = { page: path.basename(page_path), states: [] };
try {
  for (const width of [1280, 390]) {
    for (const scheme of ["light", "dark"]) {
      const page = await browser.newPage();
      const requests = [];
      page.on("request", (request) => requests.push(request.url()));
      const dialogs = [];
      page.on("dialog", async (dialog) => { dialogs.push(dialog.message()); await dialog.dismiss(); });
      await page.setBypassCSP(true); // for axe only; the page's own policy is asserted from its text
      await page.setViewport({ width, height: width > 800 ? 900 : 844 });
      await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
      await page.goto(pathToFileURL(page_path).href, { waitUntil: "load" });
      const seen = await page.evaluate(() => ({
        title: document.title,
        width: document.documentElement.scrollWidth,
        scripts: document.scripts.length,
        styled: document.querySelectorAll("[style]").length,
        handlers: [...document.querySelectorAll("*")].filter((e) => [...e.attributes].some((a) => a.name.startsWith("on"))).length,
        nodes: document.querySelectorAll("*").length,
        background: getComputedStyle(document.body).backgroundColor,
      }));
      const name = `${path.basename(page_path, ".html")}-${width}-${scheme}`;
      if (shots) {
        await page.screenshot({ path: path.join(shots, `${name}-first.png`) });
        await page.screenshot({ path: path.join(shots, `${name}.png`), fullPage: true });
      }
      const opens = await page.evaluate(async () => {
        const link = document.querySelector("a.fold-link");
        if (!link) return null;
        link.click();
        await new Promise((done) => setTimeout(done, 100));
        return document.querySelector(link.getAttribute("href")).closest("details").open;
      });
      await page.evaluate(() => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
      const width_open = await page.evaluate(() => document.documentElement.scrollWidth);
      if (shots) await page.screenshot({ path: path.join(shots, `${name}-open.png`), fullPage: true });
      await page.evaluate(axe);
      const result = await page.evaluate(async () => {
        const found = await window.axe.run(document, { resultTypes: ["violations"] });
        return {
          passes: found.passes.length,
          violations: found.violations.map((one) => ({
            id: one.id, impact: one.impact, nodes: one.nodes.length,
            first: one.nodes.slice(0, 3).map((node) => node.html.slice(0, 200)),
          })),
        };
      });
      answer.states.push({
        width, scheme, document_width: seen.width, document_width_open: width_open, scripts: seen.scripts,
        style_attributes: seen.styled, event_handlers: seen.handlers, dom_nodes: seen.nodes, title: seen.title,
        background: seen.background, requests: requests.length - 1, dialogs: dialogs.length, link_opens_fold: opens,
        ...result,
      });
      await page.close();
    }
  }
  if (shots) {
    const page = await browser.newPage();
    await page.setViewport({ width: 1280, height: 900 });
    await page.goto(pathToFileURL(page_path).href);
    await page.evaluate(() => document.querySelectorAll("style").forEach((one) => one.remove()));
    await page.screenshot({ path: path.join(shots, `${path.basename(page_path, ".html")}-no-css.png`), fullPage: true });
    await page.close();
    const paper = await browser.newPage();
    await paper.goto(pathToFileURL(page_path).href);
    await paper.pdf({ path: path.join(shots, `${path.basename(page_path, ".html")}.pdf`), format: "A4" });
    await paper.close();
  }
} finally {
  await browser.close();
  rmSync(profile, { recursive: true, force: true });
}
console.log(JSON.stringify(answer, null, 1));
