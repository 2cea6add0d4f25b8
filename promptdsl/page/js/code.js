// A payload as code that sends it: Python for the SDK of its provider, and curl for a shell.

import { replaceUnseen } from "./dom.js";
import { ExactNumber, entriesOf, jsonText, objectOf, without } from "./values.js";

/** @typedef {import("./values.js").Json} Json */
/** @typedef {{format: string, provider: string, model: string|null, lifted: string[], options: string}} Api what a payload is sent to: `lifted` and `options` are the keys of its `config` in a request without an SDK */
/** @typedef {{payload: Json, api: Api, binary: (string|number)[][]}} Sent */
/** @typedef {{imports: string, client: string, server?: string, call: string, json?: string[]}} Sdk */
/** @typedef {{url: (model: string) => string, headers: string[]}} Endpoint */

/** The placeholder for a model that the page does not know. */
const MODEL = "MODEL";
/** The maximum number of tokens in an answer, for requests that must have one. */
const ANSWER = 1024;
/** From this depth on, a value is written as JSON, as the parser of Python allows only 200 open brackets. */
const DEEP = 50;

/** @type {Record<string, Sdk>} */
const SDKS = {
  anthropic: { imports: "from anthropic import Anthropic", client: "Anthropic", call: `messages.create(model=MODEL, max_tokens=${ANSWER}, **payload)` },
  openai: { imports: "from openai import OpenAI", client: "OpenAI", call: "chat.completions.create(model=MODEL, **payload)" },
  openai_responses: { imports: "from openai import OpenAI", client: "OpenAI", call: "responses.create(model=MODEL, **payload)" },
  chat_template: { imports: "from openai import OpenAI", client: "OpenAI", call: `completions.create(model=MODEL, max_tokens=${ANSWER}, **payload)` },
  gemini: { imports: "from google import genai", client: "genai.Client", call: "models.generate_content(model=MODEL, **payload)" },
  bedrock: { imports: "import boto3", client: "boto3.client", call: "converse(modelId=MODEL, **payload)" },
};
/** The providers whose SDK knows the address of the server and the name of the key. */
const KNOWN = ["anthropic", "openai", "openai_responses", "gemini", "bedrock"];
/** The providers whose servers people run themselves, often without a key. */
const LOCAL = ["vllm", "ollama", "litellm", "chat_template", "openai_compatible"];

/** Return a payload as Python code that sends it with the SDK of the provider. @param {Sent} sent */
export function pythonCode({ payload, api, binary }) {
  const paths = new Set(binary.map(address => JSON.stringify(address)));
  const value = pythonText(sentPart(payload, api), [], paths);
  const sdk = SDKS[api.format];
  const imports = [sdk.imports];
  if (value.includes("json.loads(")) imports.unshift("import json");
  if (value.includes("b64decode(")) imports.unshift("from base64 import b64decode");
  if (!KNOWN.includes(api.provider)) imports.unshift("import os");
  const call = sdk.call.replace("MODEL", () => pythonString(api.model ?? MODEL));
  return `${imports.join("\n")}\n\npayload = ${value}\nclient = ${sdk.client}(${clientArguments(api)})\nprint(client.${call})\n`;
}

/** Return the arguments of a client; a key comes from the environment. @param {Api} api */
function clientArguments({ format, provider }) {
  if (format === "bedrock") return '"bedrock-runtime"';
  if (KNOWN.includes(provider)) return "";
  const name = variable(provider);
  const address = `os.environ["${name}_BASE_URL"]`;
  const key = LOCAL.includes(provider) ? `api_key=os.environ.get("${name}_API_KEY", "none")` : `api_key=os.environ["${name}_API_KEY"]`;
  return format === "gemini" ? `${key}, http_options={"base_url": ${address}}` : `base_url=${address}, ${key}`;
}

/**
 * Return a value as Python code; a text at one of the paths is bytes.
 * @param {any} value @param {(string|number)[]} address @param {Set<string>} binary
 * @returns {string}
 */
function pythonText(value, address, binary) {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (value instanceof ExactNumber) return value.text;
  if (typeof value === "number") return JSON.stringify(value);
  if (typeof value === "string") return binary.has(JSON.stringify(address)) ? `b64decode(${pythonString(value)})` : pythonString(value);
  if (address.length > DEEP) return `json.loads(${pythonString(jsonText(value, 0).replaceAll("\n", ""))})`;
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  const before = "    ".repeat(address.length);
  const lines = Array.isArray(value) ? value.map((part, index) => pythonText(part, [...address, index], binary))
    : entriesOf(value).map(([key, part]) => `${pythonString(key)}: ${pythonText(part, [...address, key], binary)}`);
  return lines.length === 0 ? open + close : `${open}\n${lines.map(line => `${before}    ${line},\n`).join("")}${before}${close}`;
}

/** Return a text as Python writes it: an invisible character is an escape. @param {string} text */
function pythonString(text) {
  return replaceUnseen(JSON.stringify(text), character => character.length > 1
    ? `\\U000${hexadecimal(/** @type {number} */ (character.codePointAt(0)))}` : `\\u${hexadecimal(character.charCodeAt(0))}`);
}

/** @param {number} code */
function hexadecimal(code) { return code.toString(16).padStart(4, "0"); }

/** @type {Record<string, Endpoint>} */
const ENDPOINTS = {
  anthropic: { url: () => "/v1/messages", headers: ["x-api-key: $KEY", "anthropic-version: 2023-06-01"] },
  openai: { url: () => "/chat/completions", headers: ["Authorization: Bearer $KEY"] },
  openai_responses: { url: () => "/responses", headers: ["Authorization: Bearer $KEY"] },
  chat_template: { url: () => "/completions", headers: ["Authorization: Bearer $KEY"] },
  gemini: { url: model => `/v1/models/${model.replace(/^models%2F/, "")}:generateContent`, headers: ["x-goog-api-key: $KEY"] },
  bedrock: { url: model => `/model/${model}/converse`, headers: ["Authorization: Bearer $KEY"] },
};
/** The address and the name of the key of each provider whose SDK knows them, as the SDK reads them from the environment. @type {Record<string, [string, string]>} */
const ADDRESSES = {
  anthropic: ["${ANTHROPIC_BASE_URL:-https://api.anthropic.com}", "ANTHROPIC_API_KEY"],
  openai: ["${OPENAI_BASE_URL:-https://api.openai.com/v1}", "OPENAI_API_KEY"],
  openai_responses: ["${OPENAI_BASE_URL:-https://api.openai.com/v1}", "OPENAI_API_KEY"],
  gemini: ["${GOOGLE_GEMINI_BASE_URL:-https://generativelanguage.googleapis.com}", "GEMINI_API_KEY"],
  bedrock: ["${AWS_ENDPOINT_URL_BEDROCK_RUNTIME:-https://bedrock-runtime.$AWS_REGION.amazonaws.com}", "AWS_BEARER_TOKEN_BEDROCK"],
};

/** Return a payload as a command for sh that sends it with curl. @param {Sent} sent */
export function curlCommand({ payload, api }) {
  const name = variable(api.provider);
  const [address, key] = ADDRESSES[api.provider] ?? [`$${name}_BASE_URL`, `${name}_API_KEY`];
  const { url, headers } = ENDPOINTS[api.format];
  const lines = [...headers.map(header => header.replace("KEY", () => key)), "Content-Type: application/json"].map(header => `  --header "${header}" \\\n`);
  // printf is built into each shell, so the size of the request has no limit.
  return `printf '%s' ${quoted(requestBody(payload, api))} |\ncurl --silent --show-error "${address}${url(encoded(api.model ?? MODEL))}" \\\n${lines.join("")}  --data-binary @-\n`;
}

/** Return the body of a request as JSON; an invisible character is an escape. @param {Json} payload @param {Api} api */
export function requestBody(payload, api) {
  return replaceUnseen(jsonText(bodyOf(payload, api)), character => character.split("").map(unit => `\\u${hexadecimal(unit.charCodeAt(0))}`).join(""));
}

/** Return the body of a request: the payload, and what an SDK adds to it. @param {Json} payload @param {Api} api @returns {Json} */
function bodyOf(payload, api) {
  const part = sentPart(payload, api);
  if (api.format === "bedrock") return part;
  if (api.format === "gemini") return withoutConfig(part, api);
  const needed = ["anthropic", "chat_template"].includes(api.format) ? { max_tokens: ANSWER } : {};
  return objectOf([...Object.entries({ model: api.model ?? MODEL, ...needed }), ...entriesOf(part)]);
}

/** Return a payload whose config is in the places where a request has it. @param {Json} payload @param {Api} api */
function withoutConfig(payload, { lifted, options }) {
  const config = entriesOf(payload.config ?? {});
  const liftedEntries = config.filter(([key]) => lifted.includes(key));
  const otherEntries = config.filter(([key]) => !lifted.includes(key));
  return objectOf([...entriesOf(without(payload, ["config"])), ...liftedEntries, .../** @type {[string, any][]} */ (otherEntries.length === 0 ? [] : [[options, objectOf(otherEntries)]])]);
}

/** Return the part of a payload that is sent; for a chat template, this is the rendered text. @param {Json} payload @param {Api} api @returns {Json} */
function sentPart(payload, { format }) { return format === "chat_template" ? { prompt: payload.prompt } : payload; }

/** Return a text in single quotes, in which sh changes nothing. @param {string} text */
function quoted(text) { return `'${text.replaceAll("'", "'\\''")}'`; }

/** Return a name as a part of an address, without characters that have a meaning in sh. @param {string} name */
function encoded(name) {
  return encodeURIComponent(name).replace(/[!'()*]/g, character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Return the beginning of the names of a provider's environment variables; all its interfaces share it. @param {string} provider */
function variable(provider) { return provider.replace(/_(responses|openai)$/, "").toUpperCase().replace(/[^A-Z0-9]/g, "_").replace(/^(?=[0-9])/, "_"); }
