// Opens each page as readers do and prints what is wrong with it, as a JSON array of complaints.
// node check.mjs PAGE.html…   (the browser: $DBDYNO_TEST_CHROMIUM; pictures: $DBDYNO_TEST_PICTURES)

import { readFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import axe from "axe-core";
import { FileSystemConfigLoader, HtmlValidate } from "html-validate";
import { chromium } from "playwright-core";

const WIDTHS = [360, 1280, 2560];
const SCHEMES = ["light", "dark"];

const complaints = [];
const validator = new HtmlValidate(
  new FileSystemConfigLoader({ root: true, extends: ["html-validate:recommended"] }),
);

async function validate(path) {
  const report = await validator.validateString(readFileSync(path, "utf8"));
  for (const result of report.results) {
    for (const message of result.messages) {
      complaints.push(`html-validate: ${message.ruleId}: ${message.message} (line ${message.line})`);
    }
  }
}

// As a reader opens it: its own security policy in force, every request and message seen.
async function open(browser, path, width, scheme) {
  const where = `${width} px, ${scheme}`;
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme: scheme });
  const own = pathToFileURL(resolve(path)).href;
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) {
      complaints.push(`console, ${where}: ${message.text()}`);
    }
  });
  page.on("pageerror", (error) => complaints.push(`script, ${where}: ${error.message}`));
  page.on("request", (request) => {
    if (request.url() !== own && !request.url().startsWith("data:")) {
      complaints.push(`request, ${where}: ${request.url()}`);
    }
  });
  await page.goto(own);
  complaints.push(...(await page.evaluate(seen)).map((text) => `${text} (${where})`));
  if (process.env.DBDYNO_TEST_PICTURES) {
    const name = `${basename(path, ".html")}-${width}-${scheme}.png`;
    await page.screenshot({ path: resolve(process.env.DBDYNO_TEST_PICTURES, name), fullPage: true });
  }
  await page.close();
}

// Runs in the page: what is wrong with what one sees.
function seen() {
  const wrong = [];
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) {
    const wide = [...document.querySelectorAll("body *")]
      .filter((element) => element.getBoundingClientRect().right > root.clientWidth + 1)
      .slice(0, 3)
      .map((element) => element.outerHTML.slice(0, 80));
    wrong.push(`overflow: the page is ${root.scrollWidth} px wide: ${wide.join(" ; ")}`);
  }
  for (const figure of document.querySelectorAll("figure")) {
    const name = figure.id || figure.textContent.trim().slice(0, 40);
    const charts = [...figure.querySelectorAll("svg")];
    if (charts.length === 0) wrong.push(`figure ${name}: no chart`);
    for (const chart of charts) {
      const box = chart.getBoundingClientRect();
      if (box.width < 100 || box.height < 40) {
        wrong.push(`figure ${name}: a chart of ${box.width} × ${box.height} px`);
      }
      if (!chart.querySelector("title")?.textContent.trim()) wrong.push(`figure ${name}: no title`);
      for (const text of chart.querySelectorAll("text")) {
        const at = text.getBoundingClientRect();
        if (at.width > 0 && (at.left < box.left - 1 || at.right > box.right + 1)) {
          wrong.push(`figure ${name}: clipped text "${text.textContent}"`);
        }
      }
    }
    const cells = [...figure.querySelectorAll("table td")];
    if (cells.length === 0) wrong.push(`figure ${name}: no numbers as text`);
  }
  return wrong;
}

// The policy forbids scripts, rightly; the checker is one.
async function accessible(browser, path, width, scheme) {
  const page = await browser.newPage({
    viewport: { width, height: 900 },
    colorScheme: scheme,
    bypassCSP: true,
  });
  await page.goto(pathToFileURL(resolve(path)).href);
  await page.evaluate(() => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  for (const violation of violations) {
    const nodes = violation.nodes.slice(0, 3).map((node) => node.html.slice(0, 120));
    complaints.push(`axe, ${width} px, ${scheme}: ${violation.id}: ${violation.help}: ${nodes.join(" ; ")}`);
  }
  await page.close();
}

const browser = await chromium.launch({
  executablePath: process.env.DBDYNO_TEST_CHROMIUM,
  // Root may not use the sandbox, and the pages are our own.
  args: ["--no-sandbox"],
});
try {
  for (const path of process.argv.slice(2)) {
    const before = complaints.length;
    await validate(path);
    for (const scheme of SCHEMES) {
      for (const width of WIDTHS) await open(browser, path, width, scheme);
      for (const width of [WIDTHS[0], WIDTHS[1]]) await accessible(browser, path, width, scheme);
    }
    for (let at = before; at < complaints.length; at += 1) {
      complaints[at] = `${basename(path)}: ${complaints[at]}`;
    }
  }
} finally {
  await browser.close();
}
console.log(JSON.stringify(complaints));
