// Checks a catalogue of ARD with the port of its conformance suite in Lighthouse: node ard.mjs URL
import {ConformanceTester} from './node_modules/lighthouse/third-party/ard/ard.js';

const answer = await fetch(process.argv[2]);
const tester = new ConformanceTester();
tester.validate_manifest(await answer.text(), process.argv[2]);
console.log(JSON.stringify({status: answer.status, errors: tester.errors, warnings: tester.warnings}));
process.exit(answer.ok && tester.errors.length + tester.warnings.length === 0 ? 0 : 1);
