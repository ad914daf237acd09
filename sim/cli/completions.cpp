// Completion scripts. The bash one asks the program itself for names that lie in its data folder; all
// else is written into it.
#include <algorithm>
#include <map>
#include <set>

#include "sim/cli/catalogue_tables.h"
#include "sim/cli/command_docs.h"
#include "sim/core/data_files.h"
#include "sim/core/errors.h"
#include "sim/core/suggest.h"
#include "sim/scenario/parse.h"
#include "sim/scheduling/scheduler.h"
#include "sim/study/demo.h"

namespace headway {
namespace {

using Words = std::vector<std::string>;

std::string joined(const Words& words, const std::string& between = " ") {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : between) + word;
  return out;
}

// "fcfs | priority" to its values; empty where it is no list of words.
Words alternatives(const std::string& valid) {
  Words out;
  for (std::size_t begin = 0; begin <= valid.size();) {
    const std::size_t end = std::min(valid.find(" | ", begin), valid.size());
    out.push_back(valid.substr(begin, end - begin));
    begin = end + 3;
  }
  const auto odd = [](const std::string& word) {
    return word.empty() || word.find_first_of(" \"'$`\\()<>") != std::string::npos;
  };
  if (out.size() < 2 || std::any_of(out.begin(), out.end(), odd)) return {};
  return out;
}

// First words: "run", "trace" ...; and the second words of those that have any.
std::map<std::string, Words> second_words(const std::vector<CommandDoc>& docs, Words& first) {
  std::map<std::string, Words> seconds;
  for (const CommandDoc& doc : docs) {
    const auto space = doc.name.find(' ');
    const std::string head = doc.name.substr(0, space);
    if (std::find(first.begin(), first.end(), head) == first.end()) first.push_back(head);
    if (space != std::string::npos) seconds[head].push_back(doc.name.substr(space + 1));
  }
  return seconds;
}

std::string long_name(const FlagDoc& flag) { return flag.names.back(); }

// Words that stand for a command's positional argument; "$(...)" asks the program.
std::string words_for(const CommandDoc& doc, const WordDoc& word) {
  const auto ask = [](const char* kind) {
    return std::string("$(_headway_names ") + kind + ")";
  };
  if (word.name == "scenario") return ask("scenarios");
  if (word.name == "trace") return joined(catalogue_names("traces"));
  if (doc.name == "list") {
    Words kinds;
    for (const CatalogueKind& kind : catalogue_kinds()) kinds.emplace_back(kind.name);
    return joined(kinds);
  }
  if (doc.name == "demo") {
    Words names;
    for (const DemoEntry& demo : demo_table()) names.emplace_back(demo.name);
    return joined(names);
  }
  if (doc.name == "completions") return "bash zsh fish";
  return "";
}

constexpr const char* kBashHead = R"(# bash completion for headway; made by `headway completions bash`.
_headway_names() {
  "${_headway_program:-headway}" list "$1" 2>/dev/null | awk 'NR > 1 { print $1 }'
}

_headway() {
  _headway_program=$1
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command="" key="" words="" i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      -*) ;;
      *) command=${COMP_WORDS[i]}; break ;;
    esac
  done
  if [[ -z $command && $cur != -* ]]; then
    COMPREPLY=($(compgen -W "@FIRST@" -- "$cur"))
    return
  fi
)";

// Values after "KEY=", which bash has as words of their own.
constexpr const char* kBashKeys = R"(  if [[ $cur == = ]]; then
    key=$prev cur=""
  elif [[ $prev == = && $COMP_CWORD -gt 1 ]]; then
    key=${COMP_WORDS[COMP_CWORD-2]}
  fi
  if [[ -n $key ]]; then
    local head=""
    if [[ $cur == *,* ]]; then
      head=${cur%,*},
      cur=${cur##*,}
    fi
    case $key in
@VALUES@    esac
    COMPREPLY=($(compgen -P "$head" -W "$words" -- "$cur"))
    return
  fi
  case $prev in
    --set|--vary)
      compopt -o nospace 2>/dev/null
      COMPREPLY=($(compgen -S = -W "@KEYS@" -- "$cur"))
      return ;;
@FLAGVALUES@  esac
)";

constexpr const char* kBashTail = R"(  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$cur"))
  else
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    if [[ $files == yes ]]; then
      compopt -o filenames 2>/dev/null
      COMPREPLY+=($(compgen -f -- "$cur"))
    fi
  fi
}
complete -F _headway headway
)";

std::string replaced(std::string text, const std::string& mark, const std::string& by) {
  const auto at = text.find(mark);
  SIM_CHECK(at != std::string::npos, mark);
  return text.replace(at, mark.size(), by);
}

std::string bash_values() {
  const auto line = [](const std::string& key, const std::string& words) {
    return "      " + key + ") words=\"" + words + "\" ;;\n";
  };
  Words schedulers;
  for (const SchedulerEntry& row : scheduler_table()) schedulers.emplace_back(row.name);
  std::string out = line("engine.scheduler", joined(schedulers));
  for (const auto& [key, kind] : {std::pair{"model|model.base", "models"}, {"gpu|gpu.base", "gpus"},
                                  {"profile", "profiles"}, {"cluster.router", "routers"},
                                  {"workload.format", "formats"}}) {
    out += line(key, std::string("$(_headway_names ") + kind + ")");
  }
  out += line("workload.trace", joined(catalogue_names("traces")));
  for (const FieldDoc& doc : scenario_fields()) {
    if (doc.key == "engine.scheduler" || doc.key == "cluster.router") continue;
    const Words values = doc.type == "boolean" ? Words{"true", "false"} : alternatives(doc.valid);
    if (!values.empty()) out += line(doc.key, joined(values));
  }
  return out;
}

// What may follow a flag, by its metavar.
std::string bash_flag_values(const std::vector<CommandDoc>& docs) {
  std::map<std::string, std::set<std::string>> flags_by_words;
  for (const CommandDoc& doc : docs) {
    for (const FlagDoc& flag : doc.flags) {
      if (flag.metavar.empty() || flag.metavar.starts_with("KEY")) continue;
      std::string reply = "-W \"" + joined(choices_of(flag.metavar)) + "\"";
      if (flag.metavar.find("FILE") != std::string::npos) reply = "-f";
      if (flag.metavar == "DIR") reply = "-d";
      if (long_name(flag) == "--model") reply = "-W \"$(_headway_names models)\"";
      if (long_name(flag) == "--gpu") reply = "-W \"$(_headway_names gpus)\"";
      if (long_name(flag) == "--format") reply = "-W \"$(_headway_names formats)\"";
      flags_by_words[reply].insert(flag.names.begin(), flag.names.end());
    }
  }
  std::string out;
  for (const auto& [reply, flags] : flags_by_words) {
    out += "    " + joined({flags.begin(), flags.end()}, "|") + ")\n";
    if (reply == "-f" || reply == "-d") out += "      compopt -o filenames 2>/dev/null\n";
    out += "      COMPREPLY=($(compgen " + reply + " -- \"$cur\"))\n      return ;;\n";
  }
  return out;
}

std::string bash_commands(const std::vector<CommandDoc>& docs,
                          const std::map<std::string, Words>& seconds) {
  std::string out = "  local flags=\"\" files=no\n";
  for (const auto& [head, words] : seconds) {
    out += "  if [[ $command == " + head + " && $COMP_CWORD -gt $((i + 1)) ]]; then\n" +
           "    case ${COMP_WORDS[i+1]} in " + joined(words, "|") +
           ") command+=\" ${COMP_WORDS[i+1]}\" ;; esac\n  fi\n";
  }
  out += "  case $command in\n";
  std::set<std::string> told;
  for (const CommandDoc& doc : docs) {
    Words flags, words;
    for (const FlagDoc& flag : doc.flags) {
      flags.insert(flags.end(), flag.names.begin(), flag.names.end());
    }
    bool files = false;
    for (const WordDoc& word : doc.words) {
      const std::string its = words_for(doc, word);
      if (!its.empty()) words.push_back(its);
      files = files || word.name == "scenario" || word.name == "trace" || its.empty();
    }
    if (doc.name == "help") {
      words.push_back("scenario @FIRST@");
      files = false;
    }
    if (const auto more = seconds.find(doc.name); more != seconds.end()) {
      words.push_back(joined(more->second));
    }
    told.insert(doc.name);
    out += "    \"" + doc.name + "\") flags=\"" + joined(flags) + "\" words=\"" + joined(words) +
           "\"" + (files ? " files=yes" : "") + " ;;\n";
  }
  for (const auto& [head, words] : seconds) {
    if (!told.contains(head)) out += "    " + head + ") words=\"" + joined(words) + "\" ;;\n";
  }
  return out + "  esac\n";
}

std::string bash_completions() {
  const std::vector<CommandDoc> docs = command_docs();
  Words first, keys;
  const auto seconds = second_words(docs, first);
  for (const FieldDoc& doc : scenario_fields()) keys.push_back(doc.key);
  std::string body = replaced(kBashKeys, "@VALUES@", bash_values());
  body = replaced(body, "@KEYS@", joined(keys));
  body = replaced(body, "@FLAGVALUES@", bash_flag_values(docs));
  return replaced(kBashHead, "@FIRST@", joined(first)) + body +
         replaced(bash_commands(docs, seconds), "@FIRST@", joined(first)) + kBashTail;
}

std::string fish_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string fish_completions() {
  std::string out = "# fish completion for headway; made by `headway completions fish`.\n";
  std::set<std::string> told;
  for (const CommandDoc& doc : command_docs()) {
    const std::string head = doc.name.substr(0, doc.name.find(' '));
    std::string when = "'__fish_seen_subcommand_from " + head + "'";
    if (const auto space = doc.name.find(' '); space != std::string::npos) {
      const std::string word = doc.name.substr(space + 1);
      out += "complete -c headway -n " + when + " -a " + word + " -d " + fish_quoted(doc.help) + "\n";
      when = "'__fish_seen_subcommand_from " + word + "'";
      if (told.insert(head).second) {
        out += "complete -c headway -n __fish_use_subcommand -a " + head + "\n";
      }
    } else {
      told.insert(head);
      out += "complete -c headway -n __fish_use_subcommand -a " + head + " -d " +
             fish_quoted(doc.help) + "\n";
    }
    for (const FlagDoc& flag : doc.flags) {
      out += "complete -c headway -n " + when;
      for (const std::string& name : flag.names) {
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (!flag.metavar.empty() && !flag.optional_value) out += " -r";
      const Words values = choices_of(flag.metavar);
      if (!values.empty()) out += " -f -a " + fish_quoted(joined(values));
      out += " -d " + fish_quoted(flag.help) + "\n";
    }
  }
  return out;
}

}  // namespace

std::string completions(const std::string& shell) {
  if (shell == "bash") return bash_completions();
  if (shell == "zsh") {
    return "#compdef headway\n# zsh completion for headway; made by `headway completions zsh`.\n"
           "autoload -U +X bashcompinit && bashcompinit\n" +
           bash_completions();
  }
  if (shell == "fish") return fish_completions();
  throw InputError({"command line", "headway completions", "\"" + shell + "\"",
                    one_of(shell, {"bash", "zsh", "fish"})});
}

}  // namespace headway
